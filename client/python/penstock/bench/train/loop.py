"""The training loop: mixed precision with bfloat16, channels_last, SGD, cross entropy."""
import time

import torch


def model_of(name, classes):
    """(the model, where it is from)"""
    try:
        import torchvision
    except ImportError:
        from . import resnet
        return resnet.make(name, classes), "penstock.bench"
    return getattr(torchvision.models, name)(num_classes=classes), "torchvision"


class Loop:
    def __init__(self, model, ranks, compiled):
        torch.backends.cudnn.benchmark = True
        self._ranks, self._device = ranks, ranks.device
        model = ranks.wrapped(model.to(ranks.device, memory_format=torch.channels_last).train())
        self._optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
        self._model = torch.compile(model) if compiled else model

    def train(self, batches, seconds, at_least=1):
        """Trains for `seconds` and `at_least` as many steps, the same number on every rank. Returns steps a second."""
        self._synchronize()
        steps, begin = 0, time.perf_counter()
        while steps < at_least or not self._ranks.decided(time.perf_counter() - begin >= seconds):
            self._step(*next(batches))
            steps += 1
        self._synchronize()
        return steps / (time.perf_counter() - begin)

    def _step(self, images, labels):
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(self._model(images), labels)
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _synchronize(self):
        if self._device.type == "cuda":
            torch.cuda.synchronize()
