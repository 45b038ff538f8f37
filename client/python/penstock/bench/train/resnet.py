"""ResNet-18 and ResNet-50, for machines without torchvision.

Written from "Deep Residual Learning for Image Recognition" (He et al., 2015, https://arxiv.org/abs/1512.03385), with the
names and the layout of torchvision's layers: in a bottleneck the 3 × 3 convolution has the stride.
"""
from torch import nn


def make(name, classes):
    block, blocks = {"resnet18": (Basic, (2, 2, 2, 2)), "resnet50": (Bottleneck, (3, 4, 6, 3))}[name]
    return ResNet(block, blocks, classes)


def _convolution(inputs, outputs, side, stride=1):
    return nn.Conv2d(inputs, outputs, side, stride, padding=side // 2, bias=False)


class _Block(nn.Module):
    """Layers around which the input is added to their output, by a projection where the shapes differ."""

    expansion = 1  # output channels, in multiples of the 3 × 3 convolution's

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.build(inputs, outputs, stride)
        self.relu, self.downsample = nn.ReLU(inplace=True), None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(_convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(self.residual(x).add_(shortcut))

    def build(self, inputs, outputs, stride):
        raise NotImplementedError

    def residual(self, x):
        raise NotImplementedError


class Basic(_Block):
    def build(self, inputs, outputs, stride):
        self.conv1, self.bn1 = _convolution(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = _convolution(outputs, outputs, 3), nn.BatchNorm2d(outputs)

    def residual(self, x):
        return self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))


class Bottleneck(_Block):
    expansion = 4

    def build(self, inputs, outputs, stride):
        channels = outputs // self.expansion
        self.conv1, self.bn1 = _convolution(inputs, channels, 1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = _convolution(channels, channels, 3, stride), nn.BatchNorm2d(channels)
        self.conv3, self.bn3 = _convolution(channels, outputs, 1), nn.BatchNorm2d(outputs)

    def residual(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.bn3(self.conv3(x))


class ResNet(nn.Module):
    def __init__(self, block, blocks, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)
        inputs = 64
        for number, (channels, count) in enumerate(zip((64, 128, 256, 512), blocks), 1):
            setattr(self, f"layer{number}", _layer(block, inputs, channels, count, 1 if number == 1 else 2))
            inputs = channels * block.expansion
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def _layer(block, inputs, channels, count, stride):
    outputs = channels * block.expansion
    return nn.Sequential(block(inputs, outputs, stride), *(block(outputs, outputs, 1) for _ in range(count - 1)))
