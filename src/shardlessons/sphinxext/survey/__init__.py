"""The same pages, asked of many releases of jax: ``nox -s versions``.

:mod:`._settings` says which releases, :mod:`._environments` installs each,
:mod:`._steps` builds the pages there in report mode, :mod:`._merge` makes one
history of the ledgers, and :mod:`.__main__` is the command.
"""
