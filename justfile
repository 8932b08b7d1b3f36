# The commands of everyday work; CI runs the same words.

# Style and lints
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings

# Everything that must hold
test:
    ./test

# Crashes, power cuts and concurrent histories (LAZULI_SEED and LAZULI_KILLS choose which and how many)
sim:
    cargo test --release -p lazuli-testkit -p lazuli-store -p lazuli

# The real binary under faults, for so many seconds
torture seconds="600" seed="1":
    ./torture {{seconds}} {{seed}}

# Any bytes into a parser, for so many seconds
fuzz target="all" seconds="60":
    ./fuzz {{target}} {{seconds}}

# Real clients against the release binary
conform:
    ./test clients

# Lazuli and Azurite side by side
bench:
    conformance/install --bench
    benches/run

# Serve
run *flags:
    cargo run --release -- {{flags}}
