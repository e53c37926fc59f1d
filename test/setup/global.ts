/** Gets what the suites need; filled part by part. */
export default function setup(): void {}
