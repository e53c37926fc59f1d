// Imports a function's bundle, invokes it once, and says when, in milliseconds since this process started, it had answered.
const [bundle, event] = process.argv.slice(2);
const { handler } = await import(bundle);
const report = await handler(JSON.parse(event), {
  awsRequestId: "00000000-0000-4000-8000-000000000000",
  getRemainingTimeInMillis: () => 30_000 - performance.now(),
});
const wallMs = performance.now();
const { user, system } = process.cpuUsage();
process.stdout.write(`\n${JSON.stringify({ wallMs, cpuMs: (user + system) / 1000, report })}\n`);
process.exit();
