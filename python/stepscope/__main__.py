"""`python -m stepscope`: cProfile's command line."""

from stepscope.cprofile import main

if __name__ == "__main__":
    main()
