# The commands of everyday work; CI runs the same words.

# Style and lints
check:
    cargo fmt --all --check
    cargo run --quiet -p lazuli-tidy
    cargo clippy --workspace --all-targets -- -D warnings

# Everything that must hold
test:
    ./test

# Simulated worlds (`just sim SEED` lives one again); then crashes, power cuts and histories (LAZULI_SEED, LAZULI_KILLS)
sim *seeds:
    ./simulate {{seeds}}
    ./simulate --disk
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
