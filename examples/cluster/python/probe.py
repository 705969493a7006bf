"""probe.py LIBRARY PORT default|once WORD...: one command by a cluster client."""
import importlib, os, sys, time
library, port, mode, words = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
module = importlib.import_module(library)
retry = importlib.import_module(library + ".retry").Retry
backoff = importlib.import_module(library + ".backoff").NoBackoff
Cluster = module.RedisCluster if library == "redis" else module.ValkeyCluster
options = {"retry": retry(backoff(), 0)} if mode == "once" else {}
if mode == "once" and library == "valkey":
    options = {"cluster_error_retry_attempts": 0}
client = Cluster(host="127.0.0.1", port=port, socket_timeout=0.3, **options)
try:
    print("reply", client.execute_command(*words), flush=True)
except Exception as e:
    print("error", type(e).__name__, str(e)[:70], flush=True)
time.sleep(float(os.environ.get("STAY", "0")))
