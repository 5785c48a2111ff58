# SPDX-License-Identifier: GPL-2.0
"""Flows to one receiver, for runs of one's own: of `size`, or without end."""

from scenario import Scenario

SCENARIO = Scenario(about="Flows to one receiver: `lab run star KEY=VALUE...`", runs=lambda _: ())
