"""torchrun for a PyTorch that was built without libuv, as Debian 13's was. The plain one asks for libuv, and no option changes
that. Same arguments, with --standalone or --rdzv_backend c10d:

    python3 torchrun_without_libuv.py --standalone --nproc_per_node 2 imagenet_ddp.py packs/train packs/val

With any other PyTorch this is torchrun.
"""
import os

import torch.distributed as dist


class TCPStore(dist.TCPStore):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **({"use_libuv": False} | kwargs))


if "use_libuv" in (dist.TCPStore.__init__.__doc__ or ""):  # PyTorch before 2.1 knows no libuv
    dist.TCPStore = TCPStore  # before torchrun's modules import it
    os.environ["USE_LIBUV"] = "0"  # for the ranks, which then make a store of their own
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"

from torch.distributed.run import main  # noqa: E402

if __name__ == "__main__":
    main()
