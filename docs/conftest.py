"""The pages' examples as tests, each with its line."""

from shardlessons.sphinxext.collect import collector

pytest_collect_file = collector()
