"""The pages' examples as tests, each with its line."""

from pathlib import Path

from shardlessons.sphinxext.collect import collector

pytest_collect_file = collector(Path(__file__).parent)
