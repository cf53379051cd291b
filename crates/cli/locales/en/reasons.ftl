### The reasons for folds and for the treatment of messages (engine/src/reason/), and for approvals.

reason-over-window = the context has { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}, more than the { $window } available for the prompt
reason-over-margin = the context has { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}, more than the { $window } available for the prompt less a margin of { $margin }
reason-over-high-mark-cold = the context has { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}, over the high mark of { $high }; the cache is cold, so a fold costs little now
reason-over-high-mark = the context has { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}, over the high mark of { $high }
reason-many-messages = { $messages ->
    [one] 1 message
   *[other] { $messages } messages
}, and the limit is { $max }
reason-every-call = the policy considers a fold with every call
reason-every-turn = the policy considers a fold at every turn
reason-many-turns = { $turns ->
    [one] 1 turn
   *[other] { $turns } turns
}, and the limit is { $max }
reason-requested = the user asked for it
reason-requested-by-model = requested by the model
reason-other-program = compacted by the original program
reason-summary-ready = the background summary is ready
reason-restarted = the conversation continues after a restart
reason-rejected = the provider rejected { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}; assuming a window of { $window ->
    [one] 1 token
   *[other] { $window } tokens
}
reason-folded = folded
reason-folded-harder = folded; long texts were truncated and few turns kept
reason-folded-most = folded to the task, pins, summary and newest message
reason-folded-turns = the latest turns stay, as request and answer
reason-not-enough = earlier folds did not free enough, so
reason-system-prompt = system prompt
reason-with-summary = with the summary in front of it
reason-listed-again = values listed by an earlier fold, unchanged so that they stay cached
reason-listed-for-later = values that later folds list again, unchanged so that they stay cached
reason-task = the task
reason-task-truncated = the task; truncated in the middle
reason-pinned = pinned
reason-pinned-truncated = pinned, but truncated: the context does not fit into the window
reason-opens-turn = opens the oldest turn that is kept in part
reason-opens-turn-truncated = opens the oldest turn that is kept in part; truncated in the middle
reason-over-low-mark = over the low mark
reason-older-than-tokens = older than the newest tokens that fit
reason-older-than-turns = older than the last { $turns ->
    [one] turn
   *[other] { $turns } turns
}
reason-older-than-restart = older than the last { $turns ->
    [one] turn
   *[other] { $turns } turns
} before the restart
reason-older-than-steps = older than the last { $steps ->
    [one] step
   *[other] { $steps } steps
}
reason-older-than-messages = older than the last { $messages ->
    [one] message
   *[other] { $messages } messages
}
reason-steps-too-long = { $steps ->
    [one] the last step is too long
   *[other] the last { $steps } steps are too long
}: { $keep ->
    [one] 1 of them stays
   *[other] { $keep } of them stay
}
reason-part-of-step = only part of this step fits; truncated in the middle
reason-only-user = only messages of the user stay
reason-only-newest = only the task, pins and the newest message stay
reason-oldest-half = the oldest half of the turns was dropped
reason-running-turn = the running turn is too long: its older steps were dropped
reason-earlier-fold = an earlier fold dropped it
reason-step-of-turn = a step of an earlier turn; its request and answer stay
reason-text-of-step = the text of a step of an earlier turn, without its calls
reason-does-not-fit = the context does not fit into the window
reason-does-not-fit-turns = the context does not fit into the window: only the last { $turns ->
    [one] turn stays
   *[other] { $turns } turns stay
}
reason-does-not-fit-system = the context does not fit into the window; only the system prompt stays
reason-does-not-fit-truncated = truncated, because the context does not fit into the window
reason-over-limit-truncated = truncated, because the context is over the policy's limit of { $tokens } tokens
reason-too-large = larger than the window; truncated in the middle
reason-most-of-window = takes most of the window; truncated in the middle
reason-no-result = a call in it has no result
reason-interrupted = a call without a result is answered as interrupted
reason-late-result = arrived after its call was answered as interrupted
reason-late-part = arrived after the rest of its step was sent
reason-repaired = repaired, see the warnings
reason-orphan = a result without a matching call
reason-only-thinking = thinking without an answer
reason-empty = an empty message
reason-unread = older than the messages that a fold reads
reason-no-thinking = without its thinking
reason-preview = a long result as a preview
reason-cleared = an old tool result was cleared
reason-image-seen = an image that was already seen was removed
reason-results-truncated = results over { $characters ->
    [one] 1 character
   *[other] { $characters } characters
} were truncated
reason-output-truncated = an output over { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
} was truncated in the middle
reason-same-as = the same as message { $message }
reason-same-as-prompt = the same as the system prompt
reason-quoted = quoted in the newest user message
reason-recalled-one = with 1 passage recalled
reason-recalled = with { $passages } passages recalled
reason-ledger-only = a ledger of { $ledger ->
    [one] 1 token
   *[other] { $ledger } tokens
} for texts that were truncated
reason-ledger-of-one = 1 message became a ledger of { $ledger ->
    [one] 1 token
   *[other] { $ledger } tokens
}
reason-ledger = { $messages ->
    [one] 1 message
   *[other] { $messages } messages
} became a ledger of { $ledger ->
    [one] 1 token
   *[other] { $ledger } tokens
}
reason-digest-of-one = 1 message became a digest of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}
reason-digest-of-one-ledger = 1 message became a digest of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
} and a ledger of { $ledger }
reason-digest = { $messages ->
    [one] 1 message
   *[other] { $messages } messages
} became a digest of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}
reason-digest-ledger = { $messages ->
    [one] 1 message
   *[other] { $messages } messages
} became a digest of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
} and a ledger of { $ledger }
reason-summary-of-one = 1 message became a summary of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}
reason-summary-of-one-ledger = 1 message became a summary of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
} and a ledger of { $ledger }
reason-summary = { $messages ->
    [one] 1 message
   *[other] { $messages } messages
} became a summary of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
}
reason-summary-ledger = { $messages ->
    [one] 1 message
   *[other] { $messages } messages
} became a summary of { $tokens ->
    [one] 1 token
   *[other] { $tokens } tokens
} and a ledger of { $ledger }
reason-and = ;
reason-then = :

## Why a call needs approval (agent/src/approval).

approval-risk = { $level ->
    [low] low
    [medium] medium
    [high] high
   *[critical] critical
} risk: { $why }
approval-every-call = every call needs approval
approval-rule = one of your rules requires approval
approval-first-change = it is the first change of a file in { $paths }
approval-command-change = commands can change files in { $paths }
approval-unparsed = it cannot be parsed completely as a shell script
approval-unsandboxed = commands are not sandboxed on this system
approval-repository = it changes the git repository: commits, branches or the index
approval-protected = it changes a file that programs run or read automatically: { $paths }
approval-own-directories = it stays in the agent's directories
approval-sandboxed = the command is sandboxed
approval-network = it connects to a server or the network
approval-hand-off = another role takes over
approval-asks-user = it only asks the user
approval-delegates = the sub-agent follows the same rules

## The risks of agent/presets/risks.toml, by id.

risk-changes-attributes-outside = it changes the mode, owner or times of files outside its directories
risk-accesses-keys = it accesses keys or passwords
risk-changes-automatic-file = it changes a file that programs run or read automatically
risk-changes-owner = it changes the owner of whole directories
risk-changes-services = it changes scheduled jobs or services
risk-connects-to-machine = it connects to another machine
risk-deletes-database = it deletes data from a database
risk-deletes-directories = it deletes directories with all their files
risk-deletes-file-system = it deletes a whole file system or home directory
risk-deletes-found-files = it deletes every file it finds
risk-deletes-given-files = it deletes every file it is given
risk-destroys-files = it destroys files beyond recovery
risk-discards-work = it discards work
risk-fork-bomb = it is a fork bomb
risk-installs-packages = it installs packages
risk-installs-programs = it installs or removes programs
risk-kills-processes = it kills other processes
risk-makes-writable = it makes files writable for everyone
risk-mentions-automatic-file = it mentions a file that programs run or read automatically
risk-overwrites-disk = it overwrites a disk
risk-publishes = it publishes something
risk-runs-as-user = it runs as another user
risk-runs-network-code = it runs code from the network
risk-runs-computed = it runs a command that is not written in it
risk-runs-argument = it runs a command that is in an argument
risk-runs-output = it runs the output of another command
risk-shuts-down = it shuts down or restarts the machine
