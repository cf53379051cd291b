### 屏幕：批准、调用、页脚、智能体的活动。

## terminal/activity.rs

activity-retrying = 重试
activity-reading = 正在读取 { $tokens } 个 token
activity-thinking = 思考中
activity-thinking-count = 思考中，{ $count } 个字符
activity-writing = 正在写 { $tool }
activity-writing-count = 正在写 { $tool }，{ $count } 个字符
activity-table = 正在写表格

## terminal/arguments.rs

call-todos = { $count } 项任务
call-changed = 已更改：{ $files }
call-more-files = 另外 { $count } 个文件
diff-more-lines = … 还有 { $count } 行，/unfold { $number } 显示全部
call-more-lines = … 还有 { $count } 行

## terminal/asking.rs

approval-more-lines = … 还有 { $count } 行；输入 v 查看
approval-question = [y] 允许，[n] 拒绝；或直接输入您希望怎么做
approval-question-command = [y] 允许，[n] 拒绝，[a] 始终允许此命令；或直接输入您希望怎么做
approval-question-tool = [y] 允许，[n] 拒绝，[a] 始终允许此工具；或直接输入您希望怎么做
approval-question-protected = [y] 允许，[n] 拒绝，[a] 始终允许更改此文件；或直接输入您希望怎么做
approval-question-directory = [y] 本次会话内允许，[n] 拒绝，[a] 始终允许在此目录更改；或直接输入您希望怎么做
question-prompt = 请回答（留空则稍后回答）：

## terminal/command_menu.rs

menu-more = … 还有 { $count } 条

## terminal/footer.rs

footer-in = { $time }后
footer-seconds = { $seconds } 秒
footer-minutes = { $minutes } 分 { $seconds } 秒
footer-more = … 还有 { $count } 条

## terminal/front_end.rs

call-cancelled = 已取消
hook-failed = { $middleware }：{ $hook } 失败：{ $why }

## terminal/line.rs

input-not-text = 标准输入不是 UTF-8 文本

## terminal/screen.rs

approval-too-late = 太迟了：该调用已被拒绝
queued-command = { $command } 将在本轮结束后执行
