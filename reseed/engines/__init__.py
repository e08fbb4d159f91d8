"""What runs a network: torch, ONNX Runtime or OpenVINO."""
