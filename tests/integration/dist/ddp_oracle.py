"""PyTorch's own DistributedDataParallel doing what `dist_rank ddp` does; prints the same checksum, once per rank.

Both make every value from a formula, so that bits can be compared: ranks sum in an order that depends on how
gradients are cut into buckets, so equal bits on three ranks mean equal buckets.
"""
import multiprocessing
import os
import sys

import torch
import torch.distributed as dist


def values(count, seed):
    return ((torch.arange(count) * 7919 + seed * 104729) % 1000).float() / 1000 - 0.5


def rank_main(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(world))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    net = torch.nn.Module()
    for i in range(8):
        net.register_parameter(f"w{i}", torch.nn.Parameter((values(64 * 64, i) * 0.3).view(64, 64)))

    def forward(h):
        for w in net.parameters():
            h = h.matmul(w).tanh()
        return h.square().sum()

    net.forward = forward
    ddp = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=0.05, gradient_as_bucket_view=True)
    for step in range(4):
        ddp(values(16 * 64, 100 + 10 * step + rank).view(16, 64)).backward()
        with torch.no_grad():
            for w in net.parameters():
                w.sub_(w.grad, alpha=0.1)
                w.grad.zero_()
    bits = torch.cat([w.detach().flatten() for w in net.parameters()]).view(torch.int32).long()
    sys.stdout.write(f"checksum {(bits * (torch.arange(bits.numel()) % 1009 + 1)).sum().item()}\n")
    sys.stdout.flush()
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    world, port = int(sys.argv[1]), int(sys.argv[2])
    fork = multiprocessing.get_context("fork")
    ranks = [fork.Process(target=rank_main, args=(r, world, port)) for r in range(world)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    sys.exit(max(process.exitcode != 0 for process in ranks))
