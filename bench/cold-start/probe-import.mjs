// Imports the files named on the command line and says when, in milliseconds since this process started, that was done. In
// JavaScript, as stripping types would be measured too.
for (const file of process.argv.slice(2)) await import(file);
const wallMs = performance.now();
const { user, system } = process.cpuUsage();
process.stdout.write(`\n${JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 })}\n`);
process.exit();
