"""`python -m snpjax` is the command `snpjax`."""

from .cli import main


if __name__ == "__main__":
    main()
