### The screen: approvals, calls, the footer, what the agent is doing.
