### `waterline sessions` 与 Markdown 导出。

session-relation =
    { $name ->
        [main] 主会话
        [fork] 分叉会话
        [sub-agent] 子智能体
       *[other] { $name }
    }
ago-seconds = { $count } 秒前
ago-minutes = { $count } 分钟前
ago-hours = { $count } 小时前
ago-days = { $count } 天前

list-empty = 没有会话
list-more = … 另有 { $count } 个；`waterline sessions list --all` 全部列出
list-session = 会话
list-messages = 消息数
list-used = 最近使用
list-model = 模型
list-directory = 目录
list-title = 标题

show-too-few = 会话 { $session } 只有 { $count } 条消息；无法显示第 { $at } 条消息时的状态
show-no-message = 会话 { $session } 没有第 { $number } 条消息
show-at = 第 { $count } 条消息时的状态
show-policy = 策略 { $name }
show-user = 用户 { $name }
show-times = 创建于 { $created }，最近使用于 { $used }
show-parent = { $parent } 的{ $relation }（{ $context }）
show-branch = 第 { $shared } 条消息处的分支：{ $count } 条消息，直到 { $last }
show-fold = 第 { $position } 条消息后的折叠 { $number }：{ $before } → { $after } 个 token（{ $reason }）
show-in-use = （使用中）
show-summary = 第 { $start }–{ $end } 条消息的摘要 { $version }：{ $tokens } 个 token
show-cleared = 已在第 { $position } 条消息后清空：此前的消息保留但不发送
show-workspace = 工作区 { $path }
show-uploads = 上传的文件：{ $paths }
show-mentions = 提及：{ $names }
show-todos = { $count } 个任务
show-question = 等待您的回答：{ $question }
show-earlier = … 此前还有 { $count } 条消息（-n 0 显示全部）

diff-more = … 还有 { $count } 条；--limit 0 显示全部
diff-nothing-shared = 两个会话没有共同的消息
diff-shared = 共有 { $count } 条消息，最后一条：
diff-own = { $id }：另有 { $count } 条消息

rewind-done = { $id }：{ $before } → { $after } 条消息
checkpoint-line = { $count } 条消息，在{ $after ->
        [model] 模型调用
        [tools] 工具调用
        [turn] 本轮结束
        [restore] 恢复检查点
       *[other] { " " }{ $after }{ " " }
    }之后，第 { $step } 步
checkpoint-unknown = 本会话没有检查点 { $id }；可用 `waterline sessions checkpoints` 或 /checkpoints 列出
rewind-no-message = 会话 { $session } 没有消息 { $prefix }；`waterline sessions show --json` 可列出消息 ID
rewind-ambiguous = { $prefix } 匹配 { $count } 条消息；请输入更多位 ID

search-empty = 未找到
search-abandoned = （已放弃）

export-done = 已写入 { $sessions } 个会话，{ $messages } 条消息
export-damaged = 已损坏并跳过：{ $what }
backup-database = { $path }：数据库文件，可用 --db 打开
backup-lines = { $path }：JSON 行，可用 `waterline sessions import` 导入

import-is-log = { $path } 本身是日志；请用 `waterline sessions export --db { $path } | waterline sessions import -` 导入其会话
import-progress = { $sessions } 个会话，{ $messages } 条消息
import-total = 从 { $files } 个文件导入 { $sessions } 个新会话，{ $messages } 条新消息（含系统提示词）
import-continued = { $count } 个会话有新增消息
import-forked = 会话 { $id } 在此处有不同的后续；导入的消息成为其分叉会话

erase-session = 已删除会话 { $id }
erase-would = 将删除会话 { $id }
erase-workspace = 已删除工作区 { $path }
erase-would-workspace = 将删除工作区 { $path }
erase-kept = 已保留 { $reason }
erase-would-keep = 将保留 { $reason }
erase-total = { $sessions } 个会话，{ $messages } 条消息（含系统提示词；{ $bytes } 字节）
erase-shared = { $count } 条消息保留，因为其他会话也包含它们
erase-contexts = { $count } 个请求上下文
erase-rows =
    { $kind ->
        [move] { $count } 条回退记录
        [cut] { $count } 个清空标记
        [summary] { $count } 份摘要
        [checkpoint] { $count } 个检查点
        [snapshot] { $count } 个检查点状态
        [artifact_use] { $count } 处产物引用
        [usage] { $count } 条用量记录
        [job] { $count } 个任务
        [preference] { $count } 项用户偏好
       *[other] { $count } 个 { $kind }
    }
erase-with = 同时删除：{ $rows }
erase-not-clean = 日志正被读取，或磁盘已满：已删除的数据可能仍在文件中。可用 `waterline sessions clean --yes` 清除
erase-nothing-done = 未删除任何内容。加上 --yes 再运行即可删除；删除后无法恢复

verify-checked = { $messages } 条消息（含系统提示词），{ $sessions } 个会话，{ $artifacts } 个产物（含文件版本与文件更改记录）
verify-ok = 完好
verify-problems = { $count } 个问题
verify-problem = 已损坏：{ $what }

stats-sessions = 会话
stats-sessions-value = { $users ->
    [0] { $sessions }
   *[other] { $sessions }，{ $users } 个用户
}
stats-messages = 消息数
stats-messages-value = { $messages }，另有系统提示词 { $prompts } 条；不重复 { $unique }
stats-branches = 分支
stats-tokens = token
stats-message-bytes = 消息字节
stats-message-bytes-value = { $bytes }，存储为 { $stored }
stats-database-bytes = 数据库字节
stats-bytes = { $bytes }
stats-database-bytes-value = { $bytes }（每字节消息 { $ratio }）
stats-folds = 折叠
stats-summaries = 摘要
stats-checkpoints = 检查点
stats-artifacts = 产物
stats-file-versions = 文件版本
stats-artifacts-value = { $count }（{ $bytes } 字节）
stats-calls = 模型调用
stats-calls-value = { $calls }；提示词 token：未缓存 { $input }，来自缓存 { $read }，写入缓存 { $written }；回答 token：{ $output }
stats-price = 费用
stats-jobs = 后台任务
stats-jobs-value = { $waiting } 个等待，{ $failed } 个失败

markdown-user = 用户
markdown-assistant = 助手
markdown-image = 图片
markdown-more-lines = … 另有 { $count } 行
