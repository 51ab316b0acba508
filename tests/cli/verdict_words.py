"""The verdicts that a profile can give, and the shares of a step."""

VERDICTS = {"input", "host", "compute", "bandwidth", "transfer", "synchronisation", "launch", "optimizer", "evaluation",
            "checkpoint", "communication", "contention", "capacity", "none", "unknown"}
SHARES = ["input", "transfer", "forward", "backward", "optimizer", "metrics", "recipe", "synchronisation", "launch_gap",
          "checkpoint", "evaluation", "other"]


def sum_of(shares):
    """Of the shares that are known."""
    return sum(share for share in shares.values() if share is not None)
