### `waterline chat` 的命令及其回答。

## 命令说明，按 /help 的顺序

command-help = 列出命令与按键，或说明一个命令
command-status = 显示会话状态
command-current = 显示当前会话、消息数、工作区与子代理
command-context = 显示上下文的内容；summary：已折叠消息的摘要；why N：第 N 条消息是否在其中及原因；pin N：折叠时始终保留第 N 条消息；clear：清空；undo：撤销上次折叠或清空
command-compact = 立即折叠上下文：先显示将发生的变化，再询问
command-config = 显示设置，或修改一项（仅本会话）
command-sessions = 列出会话
command-load = 切换到另一个会话
command-resume = 继续中断的一轮
command-fork = 在会话的副本中继续，从此处或第 N 条消息之后
command-rewind = 回退 N 轮（默认 1）及其更改的文件；/redo 可恢复
command-undo = 撤销上一轮或最近 N 轮及其更改的文件；/redo 可恢复
command-redo = 恢复上次 /undo、/rewind 或 /restore 移除的内容；可多次使用
command-branches = 列出本会话的分支；给出 ID 则切换
command-checkpoints = 列出本会话的检查点
command-restore = 恢复检查点 N 的消息、状态和文件；/redo 可再次前进
command-memory = 列出、搜索或修改以后的会话会记得的内容
command-recall = 搜索本会话的全部消息
command-skill = 列出技能，启用或停用一个技能
command-tools = 列出工具及模型能否使用
command-todos = 显示任务列表
command-unfold = 完整显示第 N 个或最近一次调用（Ctrl-O）
command-artifact = 列出本会话的产物（过长的输出），或显示其中一个（从第 LINE 行起，或全部）
command-clean = 删除长期未用的工作区和会话；先询问
command-clear = 从空的上下文开始；不删除任何内容（/context undo 可恢复）
command-reset = 开始新会话
command-cancel = 停止当前一轮，或取消等待中的提问或批准
command-steer = 向正在进行的一轮发送消息；两轮之间则照常发送
command-model = 显示当前及可用的模型；给出名称则切换；prefer 名称 用于新会话
command-cost = 显示本会话及其子代理的 token 用量与费用
command-export = 将本会话写入文件：JSON 行；若为 FILE.md 则为 Markdown
command-quit = 退出；会话会保留

## chat/commands/mod.rs

usage = 用法：{ $synopsis }
unknown-command = 没有命令 /{ $name }；/help 列出所有命令
unknown-command-suggestion = 没有命令 /{ $name }；是否指 /{ $suggestion }？

## chat/commands/branches.rs

branches-no-match = 没有或有多个分支以 { $prefix } 开头
branches-size = { $count } 条消息（{ $shared } 条共有）
branches-interrupted = 中断的回答：{ $message }

## chat/commands/cancel.rs

cancel-done = 已取消
cancel-nothing = 没有正在进行的操作

## chat/commands/clean.rs

chat-clean-nothing = 没有可清理的内容
chat-clean-question = 将删除 { $workspace_days } 天未用的 { $workspaces } 个工作区和 { $session_days } 天未用的 { $sessions } 个会话。确定删除吗？
chat-clean-done = 已删除
chat-clean-declined = 未删除任何内容

## chat/old_sessions.rs

old-sessions = 有 { $count } 个会话已 { $days } 天未使用；可用 /clean 或 `waterline sessions clean` 删除
old-sessions-question = 有 { $count } 个会话已 { $days } 天未使用。要删除吗？[y/N/never]{" "}

## chat/commands/clear.rs

clear-done = 上下文已清空；所有消息仍保留，可用 /recall 查找

## chat/commands/compact.rs

compact-nothing = 没有可折叠的内容
compact-declined = 未折叠
compact-question = 折叠吗？
compact-totals = { $before } → { $after } 个 token：{ $kept } 条消息不变{ $shortened ->
    [0] {""}
   *[other] ，{ $shortened } 条缩短
}{ $omitted ->
    [0] {""}
   *[other] ，{ $omitted } 条省略
}；不会删除任何内容
compact-more-slots = … 另有 { $count } 项
compact-replacement = 模型将读到以下内容：
compact-summary-by-model = 摘要将由模型撰写
compact-more-lines = … 另有 { $count } 行；折叠后 /context summary 显示全部，/context why N 说明第 N 条消息的去向

## chat/commands/config.rs

setting-policy-keys = 也可设置策略的任意键：`waterline policy show 名称` 可列出
setting-other-policy = { $key } 属于策略 { $preset }，当前使用 { $policy }；可用 /config policy { $preset } 切换
setting-not-set = 未设置
setting-unknown = 没有名为 { $key } 的设置；可用的设置：{ $settings }，以及策略的键
setting-steps-invalid = agent_max_steps = { $value } 无效；必须是 1 到 1000 的整数
setting-conflict = 与命令行参数或配置冲突
setting-adjusted = { $key } 现为 { $value }：它必须低于 fold.high

## chat/commands/policy_keys.rs

policy-key-unknown = 没有名为 { $key } 的键；`waterline policy keys` 可列出
policy-key-suggestions = 没有名为 { $key } 的键；相近的键：{ $keys }

## chat/commands/context.rs

context-no-summary = 没有摘要：尚未折叠过
context-cleared = 此消息已从上下文中清空；/context undo 可恢复
context-no-message = 没有第 { $number } 条消息
context-next-call = 下次调用时原样发送
context-unchanged = 原样保留
context-why = { $treatment }（{ $tokens } 个 token）：{ $reason }
context-pinned = 已固定第 { $number } 条消息
context-fold-undone = 已撤销上次折叠
context-clear-undone = 已撤销上次清空
context-nothing-to-undo = 没有可撤销的操作：没有折叠或清空过

## chat/commands/window.rs

context-messages = { $count } 条消息：user { $user }，assistant { $assistant }，tool { $tool }{ $system ->
    [0] {""}
   *[other] ，system { $system }
}；{ $characters } 个字符
context-tools = 工具定义
context-system-prompt = 系统提示词
context-instructions = 包含来自 { $files } 的说明
context-verbatim = 消息
context-free = 空闲
context-answer = 留给回答
context-older-turns = … 另有 { $count } 个更早的轮次
context-turn = 第 { $turn } 轮 [{ $message }] { $text }
context-total = { $used } 个 token；到 { $high } 时折叠；窗口：提示 { $window }，回答 { $answer }

## chat/commands/cost.rs

cost-calls = 调用：{ $count }
cost-prompt-tokens = 提示 token：{ $tokens }（{ $share }% 来自缓存）
cost-answer-tokens = 回答 token：{ $tokens }
cost-price = 费用：{ $price }
cost-price-unknown = 费用：{ $model } 的价格未知；可在配置的 [models."{ $model }"] 下设置 `price`，或把该模型写入 prices.toml
cost-price-date = （{ $model } 的价格，{ $date }）
cost-sub-agents = 其中子代理：{ $count } 次调用，提示 token { $prompt }，回答 token { $answers }
cost-sub-agents-price = 其中子代理：{ $count } 次调用，提示 token { $prompt }，回答 token { $answers }，费用 { $price }

## chat/commands/current.rs

current-id = 会话：{ $id }
current-messages = 消息数：{ $count }
current-messages-limit = 消息数：{ $count } / { $limit }
current-near-limit = 消息数：{ $count } / { $limit }（接近上限）
current-trimming = 消息数：{ $count } / { $limit }（已开始裁剪，发送 { $sent } 条）
current-workspace = 工作区：{ $path }
current-sub-agent = { $id }（{ $messages } 条消息，{ $loops } 次模型调用）{ $title }

## chat/commands/export.rs

chat-export-exists = { $path } 已存在；请选择其他名称
chat-export-done = { $path }：{ $count } 条消息

## chat/commands/fork.rs

fork-done = 已进入副本 { $id }（第 { $position } 条消息）

## chat/commands/help.rs

help-keys = 按键
help-key-tab = 补全命令、@名称 和 #文件
help-key-alt-enter = 换行；行尾的 \ 也可续行
help-key-history = 调出之前输入的行；在其中搜索
help-key-ctrl-o = 完整显示最近一次调用
help-key-ctrl-c = 停止一轮；在提示符处清除该行
help-key-ctrl-d = 退出；会话会保留
help-mentions = @名称 提及工具、技能或角色；#文件、#"文件 名"、#目录/、#**/*.md 附带文件

## chat/commands/load.rs

load-which = 哪一个会话？/sessions 列出会话
load-ambiguous = 有多个会话匹配，请给出更长的前缀：
load-unknown = 没有会话 { $id }；/sessions 列出会话
load-done = 已加载会话：{ $id }

## chat/commands/memory.rs

memory-off = 未启用记忆。可用 --memory 目录 或配置中的 `memory = true` 启用
memory-empty = 还没有记忆。/memory add 文字 可添加一条
memory-no-match = 记忆中没有匹配的内容
memory-added = 已添加，以后的会话都会知道
memory-known = 记忆中已有这一条
memory-replaced = 已替换：{ $earlier }
memory-forgotten = 已忘记：{ $fact }
memory-secret = 未写入记忆：内容可能含有密钥或密码
memory-nothing = 没有要记住的内容
memory-no-such =
    { $count ->
        [0] 没有第 { $number } 条记忆；记忆为空
       *[other] 没有第 { $number } 条记忆；编号从 1 到 { $count }
    }
memory-instructions = 长期要求
memory-preferences = 偏好
memory-facts = 事实
memory-superseded = 已被取代
memory-found-superseded = 已被取代，{ $day }
memory-newest = 每日记忆的最新内容
memory-source = { $message ->
    [0] （{ $day }，会话 { $session }）
   *[other] （{ $day }，会话 { $session }，第 { $message } 条消息）
}
memory-recognised = 已记住，以后的会话也适用（/memory forget 可删除）：{ $text }
memory-recognised-replaced = 已记住，以后的会话也适用（/memory forget 可删除）：{ $text }——取代：{ $earlier }
memory-rule-left-out = 规则太多：不再把这一条告诉模型（/memory forget 可删除规则）：{ $text }
memory-template = 不再记住：您在三个以上的会话中发送过这句话，像是模板的一部分（写入 MEMORY.md 可保留）：{ $text }
memory-recognised-session = 在本会话中保留：{ $text }
memory-review =
    { $count ->
       *[other] 本会话学到的内容（/memory forget 编号 可删除）：
    }

## chat/commands/model.rs

model-changed = 现在使用 { $name }
model-current = { $name }（{ $window } 个 token）
model-list-server = { $url } 上：{ $names }
model-list-config = 配置中：{ $names }
model-preferred = 新会话使用 { $name }，除非 --model 指定其他模型
model-preferred-none = 没有首选模型；用 /model prefer 名称 设置
model-preferred-set = 新会话现在使用 { $name }，除非 --model 指定其他模型
model-preferred-removed = 已删除首选模型
model-preferred-not-found = 新会话找不到 { $name }；请在配置的 [models."{ $name }"] 下设置 base_url

## chat/commands/recall.rs

recall-no-match = 本会话中没有匹配的内容
recall-words = 包含：{ $words }
recall-neighbour = 与匹配的消息相邻
recall-session = 所在会话匹配
recall-speaker = 出自所提到的人
recall-date = 来自所提到的日期
recall-instruction = 长期要求
recall-preference = 偏好
recall-meaning = 意思相近

## chat/commands/redo.rs

redo-nothing = 没有可恢复的撤销

## chat/commands/reset.rs

reset-done = 新会话 { $id }

## chat/commands/resume.rs

resume-nothing = 没有可继续的内容：上一轮已完成

## chat/commands/sessions.rs

chat-sessions-session = 会话
chat-sessions-messages = 消息数
chat-sessions-used = 最近使用
chat-sessions-model = 模型
chat-sessions-title = 标题
chat-sessions-more = … 另有 { $count } 个

## chat/commands/skill.rs

skill-none = 没有技能；将含 SKILL.md 的目录放入 .waterline/skills
skill-not-active = 没有启用的技能
skill-off = 技能 { $id } 已停用
skill-unknown = 没有技能 { $name }；/skill 可列出
skill-on = 技能 { $id } 已启用：每条消息都会提醒模型；/skill off 停用

## chat/commands/status.rs

status-session = 会话
status-model = 模型
model-origin-fallback = 备用模型
model-origin-role = 由角色指定
model-origin-flag = 启动时指定
model-origin-command = 用 /model 选择
model-origin-preferred = 首选
model-origin-automatic = 自动选择
status-policy = 策略
status-role = 角色
status-skill = 技能
status-turn = 上一轮
status-turn-question = 等待您的回答：{ $question }
status-turn-approval = 等待您批准 { $tool }
status-turn-interrupted = 已中断；/resume 继续
status-turn-finished = 已完成
status-context = 上下文
status-window = 窗口
status-window-tokens = 提示 { $prompt } 个 token，回答 { $answer } 个（{ $source }）
window-source-setting = 已设置
window-source-server = 由服务器报告
window-source-catalogue = 来自内置表
window-source-guess = 猜测值；用 --window 设置
status-folds = 折叠
status-approval = 批准
status-commands = 命令
status-commands-sandboxed = 由内核隔离
status-commands-unconfined = 未隔离（{ $why }）
status-network = 网络
status-network-on = 命令可以使用
status-network-off = 命令不可使用
status-directory = 工作目录
status-network-hosts = 命令可以访问 { $hosts }
status-workspace = 工作区
status-grants = 授权目录
status-failed-hooks = 失败的钩子
status-violations = 违反规则
level-normal = 正常
level-info = 提示
level-warning = 警告
level-critical = 严重

## chat/commands/steer.rs

steer-empty = 没有可发送的内容。一轮进行时，输入的任何行都会作为补充发送

## chat/commands/todos.rs

todos-none = 没有待办任务

## chat/commands/undo.rs

undo-count = { $before } → { $after } 条消息
undo-turn = 已撤销：{ $message }
undo-turns = 已撤销，自此起：{ $message }
undo-note = /redo 可恢复消息和文件

## chat/files.rs, moved_files.rs

files-overwrite = 代理修改 { $path } 之后您又改过它。要覆盖您的修改吗？
files-overwrite-all = 代理修改 { $paths } 之后您又改过它们。要覆盖您的修改吗？
files-not-moved = 文件未更改；--files 可同时恢复文件
files-no-workspace = 会话 { $id } 在本机没有工作区，无法恢复其文件
files-restored = 已恢复 { $paths }
files-removed = 已删除 { $paths }
files-in-part = 已恢复到您的版本：{ $paths }
files-kept = 在会话之外被修改过，保持不变：{ $paths }
files-too-large = 未恢复，因为更改过大而未记录：{ $paths }
files-failed = 未恢复：{ $path }：{ $why }

## chat/commands/artifact.rs

artifact-none = 没有产物：本会话的输出都没有超出上下文的长度
artifact-unknown = 本会话中没有唯一以 { $id } 开头的产物；/artifact 可列出
artifact-size = { $bytes } 字节
artifact-more = … 还有 { $count } 行；/artifact { $id } { $next } 继续，/artifact { $id } all 显示全部

## chat/commands/unfold.rs

unfold-none = 没有该调用

## chat/ending.rs

ending-question =
    代理提问：{ $question }
    您的下一条消息就是回答。

## chat/gauge.rs

gauge-fill = { $used } / { $high }
gauge-fill-window = { $used } / { $high } ({ $window })
gauge-cache = 缓存 { $share }%

## chat/greeting.rs

greeting = 会话 { $id }，模型 { $model }。/help 列出命令，Ctrl-C 停止一轮，Ctrl-D 退出。
greeting-offline = 未连接语言模型。请设置 ANTHROPIC_API_KEY、OPENAI_API_KEY 或 GEMINI_API_KEY，或启动本地服务器；详见 docs/models.md，可用 waterline doctor 检查设置。
greeting-private = 代理在私有目录中工作。输入 #文件名 可附带文件；用 --workspace here 启动可让它在此目录工作。
greeting-here = 代理在 { $path } 中工作。用 --workspace private 启动可让它在自己的私有目录中工作。
greeting-write = 代理在 { $path } 中工作。还可读写 { $write }。
greeting-read = 代理在 { $path } 中工作。还可读取 { $read }。
greeting-write-read = 代理在 { $path } 中工作。还可读写 { $write }，读取 { $read }。
greeting-memory =
    { $count ->
       *[other] 有 { $count } 条来自以往会话的记忆；/memory 可查看。
    }
greeting-resume = 继续此会话：{ $command }
greeting-cost = 此会话费用：{ $price }。
window-guess = { $model }：服务器没有报告上下文窗口，提示的 { $window } 个 token 是猜测值。请用 --window 设置实际值，或在配置的 [models."{ $model }"] 下设置 `window`。

## chat/mod.rs

chat-resuming = 继续中断的一轮
chat-how-to-quit = 再按一次 Ctrl-C 退出，或使用 Ctrl-D 或 /quit
chat-session-changed = 另一个进程继续了此会话；已读入新的消息
chat-stopped = 已停止；此前的消息和结果都已保留
chat-retry = /resume 可重试

## mentions.rs

mention-tool = 本会话已允许工具 { $name }；/tools 可查看
mention-skill = 技能 { $id } 仅用于本条消息；/skill { $id } 可持续使用
mention-unknown = 没有名为 @{ $name } 的工具、技能或角色
mention-attached = 已附带：{ $files }
mention-attached-more = 已附带：{ $files }，另有 { $more } 个
mention-not-found = #{ $name }：未找到文件
mention-too-many = #{ $name }：文件超过 { $most } 个；已附带前 { $most } 个
mention-link = { $path }：未附带：它是指向 { $target } 的链接；要附带该文件，请直接写出它的路径
mention-not-regular = { $path }：未附带：不是普通文件
mention-too-large = { $path }：文件过大：{ $size }，上限为 { $most }
mention-no-images = { $path }：模型不接受图像；只发送文件名

## trust.rs

trust-not-approved = 尚未批准；请在终端中启动以确认，或用 --trust-project 仅为本次批准
trust-refused = 未批准；请从 waterline.toml 中删除该地址，或在其他目录启动
trust-not-stored = { $error }；下次会再次询问
trust-question =
    您所写的和代理所读取的内容都会发送到那里。
    批准吗（此后对此目录有效）？[y/n]
trust-unreadable = 无法读取回答
place-question =
    代理可以在 { $path } 中工作：读取其中的文件，修改前会先询问。
    以后都让它在此目录工作吗？[y/n]

## input.rs

input-empty = { $name }：第 1 行，第 1 列：输入为空
input-not-utf8 = { $name }：第 { $line } 行，第 { $column } 列：不是 UTF-8
