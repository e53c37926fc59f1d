import { parseArgs } from "node:util";
import * as z from "zod";
import { startEc2 } from "./server.ts";

// Runs the endpoint in its own process, for measurements: it prints its address as one line of JSON, and
// SIGTERM ends it.

const Flags = z.strictObject({
  port: z.coerce.number().int().min(0).max(65_535).default(0),
  "latency-ms": z.coerce.number().nonnegative().default(0),
  instances: z.coerce.number().int().nonnegative().max(100_000).default(0),
  region: z.string().default("eu-central-1"),
  quotas: z.enum(["ec2", "off"]).default("ec2"),
});

const { values } = parseArgs({
  options: {
    port: { type: "string" },
    "latency-ms": { type: "string" },
    instances: { type: "string" },
    region: { type: "string" },
    quotas: { type: "string" },
  },
});
const flags = Flags.safeParse(values);
if (!flags.success) {
  process.stderr.write(`${z.prettifyError(flags.error)}\n`);
  process.exit(2);
}
const { port, region, instances, quotas, "latency-ms": latencyMs } = flags.data;
const server = await startEc2({
  port,
  region,
  instances: Array.from({ length: instances }, () => ({})),
  behaviour: { latencyMs, quotas: quotas === "off" ? "off" : {} },
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void server.close());
process.stdout.write(
  `${JSON.stringify({ url: server.url, region: server.region, account: server.account })}\n`,
);
