"""`python -m coterie`: the command."""

from coterie.cli import main

if __name__ == "__main__":
    main()
