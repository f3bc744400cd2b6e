"""Rules about loops: what leaves a step, which rows are kept, and which loops become one."""
