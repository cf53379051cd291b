### `run`、`plan`、`policy`、`convert`、`tokens`、`check`、`config` 以及各命令共用的文字。

## 文件与输入

cannot-read = 无法读取 { $path }
cannot-read-because = 无法读取 { $path }：{ $why }
cannot-open = 无法打开 { $path }
cannot-write = 无法写入 { $path }
cannot-create = 无法创建 { $path }
directory-missing = 目录不存在
input-missing = { $name } 既不是文件，也不是日志中的会话；`waterline sessions list` 列出会话
file-exists = { $path } 已存在；可用 --force 覆盖
file-is-input = { $path } 是输入文件，不能覆盖；请选择其他文件
standard-input = 标准输入
reading = 正在读取
db-missing = { $path } 处没有日志；用 `waterline chat --db { $path }` 开始一个，或用 `waterline sessions import FILE --db { $path }` 导入其他程序的会话
db-empty = --db 为空；请指定文件或 URL
sessions-none-named = 没有输入；请指定会话文件或目录，或用 --db 指定已存储的会话
sessions-none-below = { $path }：此目录下没有会话文件（{ $extensions }）
sessions-none-readable = 没有任何文件是受支持格式的会话文件
skipped = { $what }；已跳过
skipped-files = 另有 { $count } 个文件不是会话文件；已跳过
skipped-in-file = { $file }：{ $what }；已跳过
skipped-lines = { $file }：另有 { $count } 行已跳过
argument-size = “{ $value }”无效；应为 8000、8k 或 1m 这样的 token 数
argument-size-too-small = “{ $value }”无效；token 数至少为 1，如 8000、8k 或 1m
argument-log-filter = “{ $value }”不是过滤器；请写级别，如 info，或 目标=级别
argument-setting = “{ $value }”不是 key=value 的形式
model-unknown = 未知的模型“{ $name }”：使用保守估计；未指定窗口时按 { $window } 个 token 计算
model-not-named = 未指定模型：使用保守估计；未指定窗口时按 { $window } 个 token 计算
labeled = { $label }：{ $text }
with-detail = { $text }（{ $detail }）
setting-changed = { $key }：{ $before } → { $after }
at-message = 第 { $number } 条消息：{ $what }
at-system-prompt = 系统提示词：{ $what }
count-messages = { $count } 条消息
part-thinking = （思考）
part-image = （图片）

## 关于设置的提示

notice-narrowed = { $file } 设置 { $key } = { $wanted }，但上限为 { $allowed }；请在您的用户配置中放宽
notice-untrusted-model = 已忽略 waterline.toml 中的 { $key }“{ $model }”；若要使用，请在您的用户配置中添加 [models."{ $model }"]
notice-project-address = 此目录的 waterline.toml 可能将对话发送到 { $address }
notice-key-from-env = 使用 .env 中的 { $name }
notice-unused-variable = { $variable } 不起作用：它用于策略 { $preset }，而当前策略为 { $policy }
notice-fallback = 已忽略后备模型“{ $model }”：{ $why }
notice-unconfined = 此处无法为命令启用沙箱（{ $why }）；每条命令都需要您批准
notice-role-taken = 已忽略项目的角色 { $name }：已有同名角色
notice-roles = 已忽略项目的角色：{ $why }
notice-skill-link = 已忽略项目的技能 { $path }：它是链接
notice-skill-invalid = 技能 { $path } 无效：{ $why }
server-start = MCP 服务器 { $server }：无法启动 { $program }：{ $why }
server-start-in = MCP 服务器 { $server }：无法在 { $directory } 中启动 { $program }：{ $why }
server-header = MCP 服务器 { $server }：请求头“{ $name }”的名称或值无效
server-connect = MCP 服务器 { $server }：无法连接：{ $why }
server-closed = MCP 服务器 { $server }：无法连接：它在应答之前退出或关闭了连接
server-list = MCP 服务器 { $server }：无法列出其工具：{ $why }
server-timeout = MCP 服务器 { $server }：{ $seconds } 秒后仍未就绪（超时）
server-endless-list = MCP 服务器 { $server }：未能读完其工具列表；请在 mcp.{ $server }.tools 中列出需要的工具
server-large-tool = MCP 服务器 { $server }：工具 { $tool } 的定义大于 { $kilobytes } KB；请在 mcp.{ $server }.tools 中列出需要的工具
server-too-many-tools = MCP 服务器 { $server }：至少有 { $count } 个工具被略去；一个服务器最多可有 { $most } 个工具和 { $kilobytes } KB 的定义；请在 mcp.{ $server }.tools 中列出需要的工具
server-no-tool = MCP 服务器 { $server }：没有工具“{ $name }”；请检查 mcp.{ $server }.tools
notice-other-process = 另一个进程继续了本会话；从它的最后一条消息继续
notice-buffer-config = 本会话的 buffer_config 被忽略：设置 summarization 优先
notice-memory = 无法使用记忆：{ $why }
notice-tools-in-short = 工具定义超过窗口的 1/{ $share }；{ $count } 个工具只向模型作简短描述
notice-token-threshold = summarization：token_threshold { $threshold } 小于 max_tokens { $max }；在两者之间没有可丢弃的内容
notice-instructions = 已忽略指令文件：{ $why }
notice-import = { $file }：未导入 @{ $name }：它不存在，或位于项目之外
notice-instructions-changed = 指令已更改，将告知模型：{ $files }
notice-instructions-truncated = 指令过长，末尾部分已省略：{ $files }
notice-unrecorded-directory = { $path } 中的文件超过 20,000 个：命令在那里所做的更改无法撤销
notice-unrecorded-files = { $more ->
    [0] { $first }：此更改太大，无法记录，因此不能撤销
   *[other] { $first } 及另外 { $more } 个文件：这些更改太大，无法记录，因此不能撤销
}
notice-unrecorded-ignored = { $paths } 中有 { $count } 个文件被修改或删除：被忽略的文件和生成的文件不作记录，因此无法撤销
notice-unrecorded-ignored-more = { $paths } 中至少有 { $count } 个文件被修改或删除：被忽略的文件和生成的文件不作记录，因此无法撤销
notice-unrecorded-session = 本会话的文件版本已达到 { $megabytes } MB 的上限：更大的更改无法撤销；新会话可以记录更多
kept-prompt = --system 只用于新会话；此会话保留原有的提示词
kept-role = 此会话仍为角色 { $own }，保留原有的提示词；{ $asked } 需要新会话
kept-prompt-in-role = 此会话此后为角色 { $role }；保留原有的提示词
kept-model = 此会话之前使用 { $before }；此后使用 { $now }

## `run`

run-session = 会话 { $id }，模型 { $model }，目录 { $directory }
run-failed = { $name } 失败：{ $cause }
refused-outside = 沙箱可能拒绝了对 { $paths } 的访问；{ $grant } 可授权读取 { $scope }；去掉 :ro 则还可修改其中的文件
refused-outside-write = 沙箱可能拒绝了对 { $paths } 的修改；{ $grant } 可允许智能体修改 { $scope } 中的文件
refused-file = { $grant } 可授权读取 { $scope }
refused-file-write = { $grant } 可允许智能体修改 { $scope } 中的文件
refused-scope-home = { $directory }（包含您的整个主目录）
refused-read-only = 沙箱可能拒绝了对 { $path } 的修改：其目录只授权读取；授权时请去掉 :ro
refused-protected = { $name } 对命令只读；如需允许命令修改，请在配置的 [agent] 下添加 writable_protected = ["{ $name }"]
refused-moved = 命令创建或修改了受保护的 { $path }；命令的版本现为 { $moved }；如需允许，请在配置的 [agent] 下添加 writable_protected = ["{ $name }"]
refused-restored = 命令修改了受保护的 { $path }，已恢复；如需允许，请在配置的 [agent] 下添加 writable_protected = ["{ $name }"]
refused-unchecked = 命令之后无法检查 { $path } 下的受保护路径：文件过多，或无法读取；在其中运行其他程序之前，请查看有无新的钩子和设置文件
refused-network = 沙箱可能拒绝了连接；如需允许某个主机，请使用 { $grant }，或在配置的 [agent] 下添加 network = ["HOST"]
refused-host = 沙箱拒绝了到 { $host } 的连接；{ $grant } 可允许该连接，也可在配置的 [agent] 下添加 network = ["{ $host }"]
refused-socket = 沙箱可能拒绝了套接字：命令不能监听端口，也不能自行建立连接，包括到本机的连接；如需允许使用整个网络，请以 --allow-network 启动，或在配置的 [agent] 下设置 network = true
refused-offline = 命令没有网络，{ $program } 以离线方式运行；{ $grant } 可允许它下载软件包
run-schema-kept = --schema 只用于新的一轮；本轮保留原有的 schema
run-stopped = 已停止；此前的内容都在会话 { $session } 中
run-no-message = 没有消息；请作为参数或通过标准输入提供
run-empty-message = 消息为空；可用 --resume 继续中断的会话
run-reading-stdin = 正在读取标准输入；用 < /dev/null 可略过
run-stdin-not-text = 标准输入不是文本
run-schema-null = { $path } 的内容为 null，不是 schema；若不限制回答，请去掉 --schema
run-schema-invalid = { $path }
turn-limit = 提前结束：{ $why }
turn-limit-run = 提前结束：{ $why }；可在配置中用 { $setting } 设置。继续：waterline run --session { $session } "请继续"
turn-halted = 已停止：{ $why }
end-turn-calls = 已达到每轮 { $count } 次模型调用的上限
end-session-calls = 已达到会话打开以来 { $count } 次模型调用的上限
end-task-calls = 已达到此任务 { $count } 次模型调用的上限
end-tool-calls = 已达到每轮 { $count } 次工具调用的上限
end-time = 已达到每轮 { $seconds } 秒的时间上限
end-output-tokens = 回答 { $count } 次达到输出 token 上限，内容不完整；请增大 max_tokens
end-same-call = { $tool } 连续 { $count } 次以相同参数被调用
end-unsuccessful = { $tool } 连续 { $count } 次失败或被拒绝
end-refused = 模型或服务商的内容过滤器拒绝回答
end-empty-answer = 模型两次返回空回答；请换一种说法或使用其他模型
end-no-answer-text = 模型两次在输出回答文本之前就达到输出 token 上限；请增大 max_tokens
end-schema = 回答不符合要求的 schema：{ $why }
end-not-approved = 未获批准：{ $reason }
end-personal-data = 消息包含个人数据，被中间件 pii 阻止
turn-question =
    智能体提问：{ $question }
    请用以下命令回答：waterline run --session { $session } "…"
turn-approval = 等待批准：{ $call }
turn-empty = 回答为空
turn-handed-off = 由 { $role } 在会话 { $session } 中继续
call-retry = 正在重试：{ $why }
call-retry-in = { $seconds } 秒后重试：{ $why }
call-model = 改用 { $model }
call-summarizing = 正在总结较早的消息
call-folded = 已从 { $before } 个 token 折叠到 { $after } 个：{ $why }
call-window-full = 回答填满了上下文窗口
call-prompt-truncated = 服务商截断了提示词
call-over-window = 上下文有 { $tokens } 个 token，超过提示词可用的 { $window } 个
call-full-again = 折叠没有帮助：每次折叠后上下文立即又满了。{ $window } 个 token 的窗口对这项工作太小；请使用窗口更大的模型、限制工具输出，或开始新会话
call-no-summary = 模型没有给出可用的摘要，改用提要：{ $why }
call-no-schema = { $model } 不支持结构化输出，现在只通过提示词要求 JSON：{ $why }

## `plan`

plan-column-messages = 消息
plan-column-treatment = 处理
plan-column-tokens = token
plan-column-content = 内容与原因
plan-treatment =
    { $name ->
        [verbatim] 原文
        [trimmed] 截断
        [preview] 预览
        [summary] 摘要
        [recalled] 检索
        [omitted] 省略
       *[other] { $name }
    }
plan-tools = 工具定义
plan-system-prompt = 系统提示词
plan-calls = 助手调用 { $calls }
plan-fits = 未超出
plan-over-high = 超水位
plan-folded = 已折叠
plan-no-model = 未指定模型
plan-facts = { $count } 条消息 · 策略 { $policy } · { $model }（{ $method }）
plan-tokens = { $before } → { $after } 个 token
plan-of-window = { $window } 的 { $share }%
plan-marks = 高水位 { $high } · 低水位 { $low }
plan-too-large = 没有可折叠的内容，且上下文超出窗口
plan-empty = 没有可发送的内容
plan-everything-fits = 未超出：没有折叠
plan-frees-too-little =
    超过高水位，但未折叠：折叠{ $tokens ->
        [0] 不会释放任何 token
       *[other] 只能释放 { $tokens } 个 token
    }
plan-fold-reason = 已折叠：{ $reason }
plan-below-low =
    { $tokens ->
        [0] 恰在低水位
       *[other] 低于低水位 { $tokens } 个 token
    }
plan-above-low = 高于低水位 { $tokens } 个 token，因为固定的消息、最新的用户消息和最新的步骤必须保留
plan-low-not-needed = 高于低水位 { $tokens } 个 token；只有超过高水位的折叠才须降到低水位
plan-fold-report = { $place }：{ $cause }
plan-fold-report-by =
    { $name ->
        [low-mark] 低水位规则
        [limit] 窗口上限
        [level] 手动折叠
        [arrival] 新消息规则
       *[other] 阶段 { $name }{ $limits }{ " " }
    }
plan-fold-report-dropped = 最后由{ $by }去掉消息，留下的消息共 { $left } 个 token
plan-fold-report-shortened = 没有省略任何消息；{ $by }释放得最多，共 { $freed } 个 token，剩下 { $left } 个
plan-fold-report-block-full = 摘要块使用了 { $used } 个 token，即全部可用的 token
plan-fold-report-block = 摘要块使用了 { $budget } 个 token 中的 { $used } 个
plan-fold-report-no-block = 没有摘要块
method-estimate = 估计，每个 token { $ratio } 个字符
plan-no-message = 没有可发送到 { $wire } 的内容：没有消息
plan-invalid = 上下文违反 { $wire } 的规则：{ $what }
plan-warnings = { $count } 条警告
plan-more-warnings = … 另有 { $count } 条同类警告
ledger-empty = 台账为空：未折叠，或该策略不保留台账
ledger-heading = 台账，按每个值相对其 token 的价值排序

## `policy`、`convert`、`check`、`tokens`

policy-warning = 警告：{ $warning }
policy-ok = { $name }：{ $count } 个阶段，有效
policy-fold-keys = 何时开始折叠，以及将上下文减到多少
convert-total = { $conversations } 个对话，{ $messages } 条消息，{ $calls } 次调用，{ $results } 个结果
check-convert = { $path } 是其他程序的会话文件，不是消息列表；请先转换：waterline convert { $path } - | waterline check -
check-total = { $count } 个对话，{ $invalid } 个无效
tokens-total = { $count } 个 token（{ $method }）
tokens-calls = 调用
tokens-results = 结果
tokens-thinking = 思考
tokens-images = 图片
tokens-system = 系统文本
tokens-assistant = 助手文本
tokens-user = 用户文本
tokens-framing = 消息格式开销
tokens-tools = 工具定义
tokens-other = 其他

## `config`

config-built-in = 内置
config-preference = 偏好
config-preference-of-session = 会话的偏好
config-preference-of-user = { $user } 的偏好
config-built-in-for = 内置，用于 { $model }
config-built-in-for-unknown = 内置，用于未知模型
config-found = 自动发现：{ $place }
config-found-on-server = 自动发现：服务器
config-not-trusted = 信任其服务器后才会询问
config-unavailable = 不可用：请运行 `waterline doctor`
config-file-missing = { $path }  （不存在）
config-no-user = 未指定用户；请使用 --user NAME 或设置 WATERLINE_USER
config-preference-set = { $user }：{ $key } = { $value }
config-preference-unset = { $user }：已删除 { $key }

## show/mod.rs

role-system = 系统
role-user = 用户
role-assistant = 助手
role-tool = 工具
role-line = { $role }：{ $text }
