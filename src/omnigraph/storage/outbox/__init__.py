"""Small files of a bucket on their way through a scratch directory of this machine."""
