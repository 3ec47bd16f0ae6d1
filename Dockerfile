# The server in a container: slim, without root, on a read-only root file system.
#   docker build -t omnigraph .
#   docker run --read-only --tmpfs /tmp --cap-drop ALL -p 8080:8080 -v graphs:/data omnigraph serve /data/kb.omni

FROM python:3.11-slim AS build
WORKDIR /build
COPY requirements.lock pyproject.toml README.md LICENSE NOTICE ./
COPY src ./src
# The locked versions of what the server needs. Their hashes are for installing the whole lock, tests included.
RUN grep -oE '^[A-Za-z0-9._-]+==[^ ;]+' requirements.lock > constraints.txt \
    && python -m venv /opt/omnigraph \
    && /opt/omnigraph/bin/pip install --no-cache-dir --constraint constraints.txt ".[server,analytics]"

FROM python:3.11-slim
# A number, so that orchestrators can check that it is not root.
RUN useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin omnigraph \
    && install -d -o 10001 -g 10001 /data
COPY --from=build /opt/omnigraph /opt/omnigraph
ENV PATH=/opt/omnigraph/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HOME=/tmp \
    XDG_CACHE_HOME=/tmp \
    OMNIGRAPH_BIND=0.0.0.0:8080
USER 10001:10001
VOLUME /data
WORKDIR /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["python", "-c", \
    "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
ENTRYPOINT ["omnigraph"]
CMD ["serve", "--help"]
