"""Run benchmarks: `python -m benchmarks` for all, `python -m benchmarks language` for one, `--list` to see them."""

import importlib
import pkgutil
import sys

import benchmarks


def names() -> list[str]:
    """Every module but the parts of another one: `engine_data` belongs to `engine`."""
    modules = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - {"__main__", "processes"}
    return sorted(name for name in modules if name.partition("_")[0] not in modules - {name})


def main(arguments: list[str]) -> int:
    known = names()
    if "--list" in arguments:
        print("\n".join(known))
        return 0
    unknown = [name for name in arguments if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in arguments or known:
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
