"""Marks the wheel as platform-specific, because it contains a program and no Python."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Platform(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['CEREBRO_WHEEL_PLATFORM']}"
