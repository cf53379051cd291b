### 命令行帮助的中文文字。英文帮助在源代码的文档注释中。
### ID 由命令路径和参数名组成；`help--参数` 由多个命令共用；`-long` 只在 `--help` 中显示。

## 标题

help-heading-usage = 用法：
help-heading-arguments = 参数
help-heading-options = 选项
help-heading-commands = 命令
help-heading-subcommands = 子命令
help-heading-name = 名称
help-heading-synopsis = 概要
help-heading-description = 描述
help-heading-version-number = 版本
help-heading-help = 显示帮助
help-heading-help-command = 显示此帮助，或某个命令的帮助
help-heading-version = 显示版本
help-heading-values = （可选值：{ $values }）
help-heading-default = （默认：{ $value }）
help-heading-env = （环境变量：{ $name }）
help-heading-any-option = [选项]
help-heading-suggestion = ；相近的有：{ $suggestion }
help-heading-error = 参数错误：{ $kind ->
    [missing] 缺少必需的参数 { $argument }
    [unknown-argument] 未知的参数“{ $argument }”
    [unknown-command] 未知的命令“{ $argument }”
    [missing-command] 缺少命令；可选：{ $known }
    [no-value] { $argument } 缺少值
    [value] { $argument } 的值“{ $value }”无效；可选：{ $known }
    [conflict] { $argument } 不能与 { $other } 同时使用
    [repeated] 参数 { $argument } 只能指定一次
    [count] { $argument } 的值的数目不对
    [sentence] { $argument }：{ $cause }
   *[validation] { $argument } 的值“{ $value }”无效：{ $cause }
}
help-heading-more = 用 --help 查看帮助

## 各命令共用的参数

help--lang = 消息和帮助的语言：en、zh（默认：取自配置，否则取自系统语言环境）
help--model = 使用的模型；`offline` 为内置模型（默认依次为：$WATERLINE_MODEL、配置、ANTHROPIC_API_KEY、OPENAI_API_KEY 和 GEMINI_API_KEY 中第一个已设置的、本机的服务器、offline）
help--base-url = 模型服务器的 URL，如 http://127.0.0.1:8080（默认：$WATERLINE_BASE_URL，否则取自配置）；其密钥取自 $WATERLINE_API_KEY 或 --key-file
help--wire = 服务器的协议格式：openai-chat、openai-responses、anthropic、gemini（默认：根据模型名判断）
help--key-file = 从此文件读取 API 密钥
help--window = 提示词可使用的 token 数，如 4000 或 128k
help--policy = 使用的策略：预设或文件（默认：会话自身的策略，否则取自配置，否则为 auto）
help--sets = 设置策略的键，如 fold.high=60%
help--set = 设置策略的键，如 window.messages=60（见 `waterline policy keys`）
help--max-tokens = 回答的最大 token 数
help--memory = MEMORY.md 和每日记忆文件所在的目录（默认：取自配置，否则为数据目录）
help--role = 智能体的角色：init、execute 或自定义角色
help--user = 使用其会话和偏好的用户（默认：$WATERLINE_USER，否则不指定）
help--workspace = 智能体在哪里工作：here（此目录）、private（私有目录）或指定的目录（默认：在 git 工作树中或您批准过的目录中为 here，否则为 private）
help--allow-dirs = 还允许智能体访问此目录；DIR:ro 为只读
help--approval = 何时在调用工具前询问：all、selective、custom、none
help--allow-network = 允许命令使用网络
help--allow-hosts = 允许命令访问此主机：crates.io、*.pypi.org、localhost:8080
help--trust-project = 本次运行信任此目录的 waterline.toml 所指定的服务器
help--log-format = 以此格式将事件记录到标准错误输出：text 为每个事件一行文字，json 为每个事件一个 JSON 对象，agent 为 Agent Service 的中文日志行
help--log = 记录哪些事件：error、warn、info、debug，或过滤器，如 waterline::context=info（默认：有 --log-format 时为 info，否则不记录）
help--url = 使用的日志：文件，或 postgres://user@host/database（默认：$WATERLINE_DB，否则为数据目录中的 waterline/sessions.db）
help--session = 要继续的会话，不存在则创建（默认：新会话）；自动生成的 ID 输入前八位即可
help--system = 新会话的系统提示词
help--json = 输出一个 JSON 对象
help--force = 覆盖已有的文件
help--id = 会话（ID 或其唯一前缀）

## 命令

help = 永不丢失历史、并展示模型所见内容的终端智能体

help-chat = 在终端中与智能体对话
help-chat-long = 无需任何设置：没有模型时，由只会引用原文的内置模型回答。/help 列出命令；Tab 补全命令、@名称 和 #文件；Ctrl-C 停止当前轮；Ctrl-D 退出。
help-chat--resume = 在其原来的目录中，从中断处继续会话（默认：此目录最近的会话）

help-run = 向智能体发送一条消息并输出其回答
help-run-long = 智能体使用工具工作，直到得出回答；在 git 工作树中就在此目录工作。没有终端时，除非 --yes、--approval none 或此前在聊天中选择的“始终”允许，它不会修改此处的文件；--workspace private 让它在自己的私有目录中工作。会话会被存储：随时可用 --session 继续，也可在其他进程中或使用其他模型继续。上下文始终在模型的窗口之内；任何内容都不会丢失。退出状态：0 有回答，1 没有完整回答，2 出错，3 智能体在等待回答或批准。
help-run--prompt = 消息，可包含 @名称 和 #文件；为 `-` 或省略时从标准输入读取。有消息时，管道输入作为数据附带
help-run--resume = 在其原来的目录中，从中断处继续会话，不发送新消息（默认：此目录最近的会话）
help-run--schema = 要求回答符合此文件中的 JSON schema，并只输出 JSON。继续的轮次保留其 schema
help-run--yes = 批准所有需要批准的调用，极高风险的调用、未隔离的命令和对受保护路径的更改除外
help-run--json = 每个事件输出一个 JSON 对象；最后一个包含本轮的合计

help-plan = 显示对话的下一次调用会发送什么，以及原因
help-plan--file = JSON 对话、请求体，或每行一个对话的 JSON 行；`-` 为标准输入；或已存储会话的 ID
help-plan--url = 从此日志读取已存储的会话：文件，或 postgres://user@host/database
help-plan--user = 采用此用户的偏好（默认：$WATERLINE_USER，否则不指定）
help-plan--policy = 预设（见 `waterline policy list`）或 TOML 文件（默认：已存储会话的策略，否则为用户的偏好，否则为配置，否则为 auto）
help-plan--model = 为哪个模型规划（默认：文件中的模型）
help-plan--window = 上下文可使用的 token 数：8000、8k、1m（默认：模型的窗口减去回答所需）
help-plan--from = 文件的协议格式：openai-chat、openai-responses、anthropic、gemini（默认：自动判断）
help-plan--to = 输出的协议格式（默认：与文件相同）
help-plan--at = 规划前 N 条消息之后的调用（默认：全部）
help-plan--why = 显示台账中每个值的理由，用于单个对话
help-plan--json = 每个对话输出一个 JSON 对象

help-policy = 列出、输出和检查策略
help-policy-list = 列出预设
help-policy-show = 以 TOML 输出策略及其生效的值，包括偏好、配置和环境变量
help-policy-show--name = 预设或 TOML 文件
help-policy-show--model = 采用配置为此模型设置的键（默认：所配置的模型）
help-policy-show--user = 采用此用户的偏好（默认：$WATERLINE_USER，否则不指定）
help-policy-check = 检查策略；有效时退出状态为 0
help-policy-check--file = TOML 文件或预设
help-policy-keys = 列出所有键及其允许的值

help-convert = 将其他程序的会话文件转换为 OpenAI chat、Anthropic 或 ATIF 格式
help-convert--input = 任何受支持格式的会话文件；`-` 为标准输入
help-convert--output = 要写入的文件；`-` 为标准输出
help-convert--to = 输出格式：openai-chat、anthropic、atif
help-convert--main-only = 不包括已放弃的分支和子智能体

help-replay = 在录制的对话上比较各策略的成本和遗忘
help-replay--files = 任何受支持格式的会话文件或其目录；使用 --db 时为已存储会话的 ID（默认：全部）
help-replay--url = 从此日志读取已存储的会话：文件，或 postgres://user@host/database
help-replay--window = 除系统提示词和工具外，上下文可使用的 token 数
help-replay--model = 按哪个模型回放（默认：会话中的模型）
help-replay--tokens = 计数方法（默认：模型的方法）；公开的数据使用 chars/4
help-replay--policy = 预设或 TOML 文件，以逗号分隔（默认：所有预设）
help-replay--set = 设置每个策略的键，如 fold.low=50%（见 `waterline policy keys`）
help-replay--weights = 用于台账排序的权重（默认：内置）
help-replay--prices = 价格表：cached、cached-1h、cheap-reads、free-writes、uncached 或模型名
help-replay--lost = 列出 --policy 的策略（默认：auto）会遗忘的每个值，及其来源和需要它的调用
help-replay--session = 只回放此会话（ID 或前缀）
help-replay--json = 输出一个 JSON 对象，每个策略、窗口和文件一行
help-replay--html = 写入带图表的 HTML 页面
help-replay--dump = 将每个上下文以 JSON 行写入此文件
help-replay--judge = 用此 OpenAI 兼容服务器的模型对抽样的录制回答评分（意外度）；服务器须返回提示词的对数概率（vLLM、SGLang、llama-cpp-python）；密钥取自 WATERLINE_API_KEY
help-replay--judge-model = 该服务器上用于评分的模型（默认：若服务器列出 --model 则用它，否则用其第一个模型）；--model 只决定 token 的计数
help-replay--judge-sample = 每个策略和窗口评分的回答数

help-bench = 在问题集上测量检索
help-bench-recall = 测量能找到多少回答问题的消息
help-bench-recall-long = 文件的每一行是一个对话：{"{"}"turns":[{"{"}"id","session","time","speaker","text"{"}"}],"queries":[{"{"}"question","evidence":[ID],"category","user"{"}"}]{"}"}。若所有问题都注明用户，则测量三次：全部消息、只取该用户的消息、每个用户一个索引。
help-bench-recall--files = 问题集：JSON 行，每行一个对话
help-bench-recall--encoder = 同时用此模型的向量测量检索：含句子编码器（model.onnx、tokenizer.json）或词向量表（*.safetensors、*tokenizer*.json）的目录
help-bench-recall--json = 输出一个 JSON 对象，包含每个问题集的数值（百分比）
help-models = 添加、列出和移除语义搜索的编码器
help-models-long = 编码器把文本变成向量，使搜索能按含义找到消息。回答问题的语言模型通过 --model、配置或聊天中的 /model 选择。
help-models-add = 将编码器的文件复制到数据目录
help-models-add-long = 经过测试的文件按 SHA-256 识别：all-MiniLM-L6-v2、多语言 Universal Sentence Encoder 和 WordLlama（来源见 docs/recall.md）。其他文件需要用 --sha256 给出其哈希值。
help-models-add--paths = 模型文件或其所在目录：句子编码器（*.onnx、*.npz）或词向量表（*.safetensors），以及其分词器
help-models-add--sha256 = 同时接受具有此 SHA-256 的文件（可重复）
help-models-add--name = 这些文件所属编码器的名称（默认：其目录的名称）
help-models-list = 列出已添加的编码器，首选的在前
help-models-list--json = 每个编码器输出一个 JSON 对象
help-models-remove = 删除编码器的文件，以及它为日志中的消息生成的向量
help-models-remove--name = 编码器的名称
help-recall = 用问题或几个词查找以往会话的消息
help-recall--question = 问题，或要查找的词
help-recall--session = 只在此会话中搜索
help-recall--user = 搜索哪个用户的会话（默认：$WATERLINE_USER，否则为没有用户的会话）
help-recall--limit = 每个会话最多返回的结果数
help-recall--json = 每条消息输出一个 JSON 对象

help-replay-train = 从录制的对话中学习台账的权重
help-replay-train--files = 任何受支持格式的会话文件或其目录；使用 --db 时为已存储会话的 ID（默认：全部）
help-replay-train--url = 从此日志读取已存储的会话：文件，或 postgres://user@host/database
help-replay-train--window = 除系统提示词和工具外，上下文可使用的 token 数
help-replay-train--model = 按哪个模型回放（默认：会话中的模型）
help-replay-train--tokens = 计数方法（默认：模型的方法）；公开的数据使用 chars/4
help-replay-train--start = 训练的起点，结果不会偏离太远（默认：内置权重）
help-replay-train--out = 要写入的文件（默认：输出权重）
help-replay-train--hold-out = 依次留出每个文件，并在其上测量由其他文件学得的权重

help-replay-usage = 将计数的 token 与服务商报告的用量比较
help-replay-usage--files = 任何受支持格式的会话文件或其目录；使用 --db 时为已存储会话的 ID（默认：全部）
help-replay-usage--url = 从此日志读取已存储的会话：文件，或 postgres://user@host/database
help-replay-usage--tokens = 计数方法（默认：模型的方法）

help-sessions = 列出、显示、分叉、回退、导入和导出已存储的会话
help-sessions-list = 列出会话，最近的在前
help-sessions-list-long = ID 缩短为唯一前缀。
help-sessions-list--user = 只列出此用户的会话
help-sessions-list--limit = 最多列出的会话数（默认：20，用 --json 时为全部；0 为全部）
help-sessions-list--all = 列出所有会话
help-sessions-list--json = 每个会话输出一个 JSON 对象
help-sessions-show = 显示会话的状态和消息
help-sessions-show--last = 显示的消息数，最新的在最后（0 为全部）
help-sessions-show--at = 显示会话在前 N 条消息之后的状态
help-sessions-show--message = 只输出第 N 条消息，与存储的一致
help-sessions-show--json = 输出一个包含所有消息的 JSON 对象
help-sessions-fork = 创建分叉会话：以会话的全部消息或前 N 条消息开始一个新会话
help-sessions-fork--at = 只取前 N 条消息（默认：全部）
help-sessions-fork--name = 新会话的 ID（默认：自动生成）
help-sessions-fork--json = 以一个 JSON 对象输出新会话
help-sessions-rewind = 回退会话；之后的消息会保留
help-sessions-rewind--to = 回退到前 N 条消息
help-sessions-rewind--by = 回退 N 条消息
help-sessions-rewind--turns = 回退 N 轮：回到其中最早一轮的用户消息之前
help-sessions-rewind--message = 回退到此消息（ID 或其唯一前缀）
help-sessions-rewind--files = 同时恢复这些轮更改过的文件
help-sessions-rewind--allow-dirs = 与 --files 一起使用：除工作区外，也恢复此目录中的文件
help-sessions-rewind--json = 以一个 JSON 对象输出会话
help-sessions-redo = 恢复上次回退移除的消息
help-sessions-redo--by = 前进 N 条消息（默认：尽可能多）
help-sessions-redo--files = 同时恢复这些轮更改过的文件
help-sessions-redo--allow-dirs = 与 --files 一起使用：除工作区外，也恢复此目录中的文件
help-sessions-redo--json = 以一个 JSON 对象输出会话

help-sessions-checkpoints = 列出会话的检查点
help-sessions-checkpoints--json = 每个检查点输出一个 JSON 对象
help-sessions-restore = 恢复检查点的消息和状态；之后的消息会保留
help-sessions-restore--checkpoint = 检查点的编号（见 `waterline sessions checkpoints`）
help-sessions-restore--files = 同时恢复这些轮更改过的文件
help-sessions-restore--allow-dirs = 与 --files 一起使用：除工作区外，也恢复此目录中的文件
help-sessions-restore--json = 以一个 JSON 对象输出会话
help-sessions-rename = 修改会话的标题
help-sessions-rename--title = 新标题
help-sessions-diff = 比较两个会话
help-sessions-diff--left = 第一个会话（ID 或其唯一前缀）
help-sessions-diff--right = 第二个会话（ID 或其唯一前缀）
help-sessions-diff--limit = 每个会话显示的消息数，从第一条开始；0 表示全部
help-sessions-search = 按词搜索消息和产物，支持任何语言
help-sessions-search--words = 要查找的词；包含全部词的消息排在前面。`connect*` 匹配前缀
help-sessions-search--session = 只在此会话中搜索
help-sessions-search--limit = 最多返回的结果数
help-sessions-search--json = 每条消息输出一个 JSON 对象
help-sessions-export = 将会话写为 JSON 行
help-sessions-export-long = 导出是完整的：导入后 ID 相同。损坏的会话写到损坏处为止，退出状态为 1。
help-sessions-export--ids = 要导出的会话（ID 或其唯一前缀；默认：全部）
help-sessions-export--output = 要写入的文件（默认：标准输出）
help-sessions-export--markdown = 写为便于阅读的 Markdown，而不是 JSON 行
help-sessions-import = 导入任何受支持格式的会话文件，以及导出的文件
help-sessions-import-long = 已存储的消息不会重复存储。
help-sessions-import--files = 会话文件、导出的文件或其目录；`-` 为标准输入
help-sessions-import--user = 导入的会话所属的用户
help-sessions-verify = 校验整个日志的哈希；有损坏时退出状态为 1
help-sessions-clean = 删除长期未使用的会话和旧工作区；不加 --yes 时只列出
help-sessions-clean--idle = 删除未使用满此天数的会话（默认：配置中的 agent.session_days，否则 30）
help-sessions-clean--workspaces = 删除未使用满此天数的会话的工作区（默认：配置中的 agent.workspace_days，否则 7）
help-sessions-clean--yes = 执行删除，而不只是列出
help-sessions-erase = 删除会话或某用户的所有内容；不加 --yes 时只列出
help-sessions-erase-long = 会话连同其子智能体和工作区一起删除。再次导入同一文件可恢复会话。
help-sessions-erase--id = 要删除的会话（ID 或其唯一前缀）
help-sessions-erase--user = 删除此用户的所有内容
help-sessions-erase--yes = 执行删除，而不只是列出
help-sessions-backup = 在使用中将整个日志复制到文件
help-sessions-backup-long = SQLite 日志成为数据库文件，PostgreSQL 日志成为可供 `import` 使用的 JSON 行。
help-sessions-backup--file = 要写入的文件
help-sessions-stats = 显示日志的统计信息

help-tokens = 计算对话的 token 数
help-tokens--file = JSON 对话、请求体，或每行一个对话的 JSON 行；`-` 为标准输入；使用 --db 时为已存储会话的 ID
help-tokens--url = 从此日志读取已存储的会话：文件，或 postgres://user@host/database
help-tokens--model = 按此模型计数（默认：文件中的模型）
help-tokens--with = 使用此计数方法代替模型的方法：tiktoken、o200k、cl100k、estimate、chars/4、agentgraph、init-execute、cow、agent-service、beamai
help-tokens--from = 文件的协议格式（默认：自动判断）
help-tokens--json = 每个对话输出一个 JSON 对象

help-check = 按协议格式的规则检查消息列表
help-check-long = 退出状态：0 全部有效，1 部分无效，2 输入不是对话。
help-check--file = JSON 对话、请求体，或每行一个对话的 JSON 行；`-` 为标准输入
help-check--wire = 按此协议格式检查：openai-chat、openai-responses、anthropic、gemini（默认：与文件相同）
help-check--json = 每个对话输出一个 JSON 对象

help-config = 显示设置及其来源
help-config-show = 显示每个生效的值及其来源：内置或自动发现 < 用户配置 < 项目配置 < .env < 环境变量
help-config-show--json = 每个值输出一个 JSON 对象
help-config-show--user = 加入此用户的偏好
help-config-set = 设置用户的偏好：policy、model 或策略的键
help-config-set--key = policy、model 或键，如 window.messages
help-config-set--value = 值
help-config-unset = 删除用户的偏好
help-config-unset--key = policy、model 或键，如 window.messages
help-config-files = 列出配置文件及其是否存在

help-doctor = 检查配置、密钥、服务器、数据库和沙箱
help-doctor-long = 退出状态：0 已设置的一切正常，1 有问题。
help-doctor--ask = 向模型提一个简短的问题，检查其是否回答

help-completions = 输出 shell 的补全脚本
help-completions--shell = 为哪个 shell 生成脚本

help-man = 输出手册页，或将所有命令的手册页写入目录
help-man--directory = 每个命令一页的目录（默认：输出程序的手册页）
