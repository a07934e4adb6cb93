"""An imitation of what bale.launch uses of PySpark: tasks run in this process, and are tried again."""
