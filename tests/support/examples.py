"""Numbers of random examples that follow the hypothesis profile: `fast` draws a tenth of what `ci` draws."""

from hypothesis import settings

CI_EXAMPLES = 100


def examples(most: int) -> settings:
    """`most` examples, or the profile's share of them if it draws fewer than `ci`."""
    share = min(CI_EXAMPLES, settings().max_examples)
    return settings(max_examples=max(1, most * share // CI_EXAMPLES))
