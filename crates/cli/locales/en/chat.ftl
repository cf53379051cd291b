### The commands of `waterline chat` and what they answer.

fork-done = Now in the copy { $id } (message { $position })
