"""Storage options reach both clients: Lance's, which ignores what it does not know, and ours, which does not."""

from datetime import timedelta

import pytest

from omnigraph.storage.objects.s3_options import split_options


@pytest.mark.parametrize(
    ("given", "config", "client"),
    [
        ({"AWS_REGION": "eu"}, {"aws_region": "eu"}, {"allow_http": False}),
        ({"allow_http": "TRUE"}, {}, {"allow_http": True}),
        ({"aws_allow_http": "true"}, {}, {"allow_http": True}),
        ({"request_timeout": "5s", "proxy_url": "x"}, {}, {"allow_http": False, "timeout": "5s", "proxy_url": "x"}),
        ({"download_retry_count": "3"}, {}, {"allow_http": False}),
    ],
)
def test_every_option_goes_where_it_belongs(
    given: dict[str, str], config: dict[str, str], client: dict[str, object]
) -> None:
    options = split_options(given, {})
    assert (options.config, options.client, options.retry) == (config, client, None)


def test_the_environment_may_allow_http() -> None:
    assert split_options({}, {"AWS_ALLOW_HTTP": "true"}).client == {"allow_http": True}
    assert split_options({"allow_http": "false"}, {"AWS_ALLOW_HTTP": "true"}).client == {"allow_http": False}


def test_both_clients_retry_alike() -> None:
    options = split_options({"client_max_retries": "1", "client_retry_timeout": "2.5"}, {})
    assert options.retry == {"max_retries": 1, "retry_timeout": timedelta(seconds=2.5)}
    assert options.config == {}
