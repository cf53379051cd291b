### `waterline doctor`.

doctor-config = config
doctor-config-ok = valid
doctor-database = database
doctor-database-ok =
    { $url }, { $count ->
        [one] 1 session
       *[other] { $count } sessions
    }
doctor-sandbox = sandbox
doctor-sandbox-ok = the kernel confines commands to their workspace under { $path }
doctor-sandbox-none = { $why }; you will be asked before each command
doctor-recall = search by meaning
doctor-recall-server = { $model } at { $url }
doctor-recall-keywords = no encoder, so search uses keywords only; `waterline models add` adds one (docs/recall.md)
doctor-set = set
doctor-not-set = not set
doctor-local = local server
doctor-local-found = { $model } at { $url }, window { $window }
doctor-local-guess = { $model } at { $url }; it does not report its window, so { $window } tokens are a guess: set the real number with --window
doctor-local-none = none on the usual ports
doctor-model = model
doctor-model-window = { $model }, { $window } tokens for the prompt, price unknown
doctor-model-price = { $model }, { $window } tokens for the prompt, ${ $input } and ${ $output } per million prompt and answer tokens
doctor-model-built-in = { $model }: built in
doctor-model-answers = { $model } answers: { $answer }
doctor-model-timeout = { $model }: no answer within { $seconds } s
doctor-untrusted = not checked: { $addresses } from waterline.toml is not trusted yet; run `waterline chat` in this directory to approve it
doctor-fallback = fallback
doctor-tools =
    { $count ->
        [one] 1 tool
       *[other] { $count } tools
    }
doctor-agent = agent
doctor-agent-ok = middleware: { $middleware }; rules: { $rules }
doctor-skills = skills
doctor-roles = roles
