import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { systemClock } from "#kube/follow/clock.ts";
import { notFollowed } from "#relay/followed-cluster.ts";
import { createRelayMetrics } from "#relay/report/metrics.ts";
import { startRelayServer } from "#relay/server.ts";
import { findProgram } from "#test/setup/find-program.ts";

const run = promisify(execFile);

test("a browser shows hostile names as text, runs nothing but our script and style, and sees what is new", async ({
  skip,
}) => {
  const chromium = await findProgram("chromium");
  if (chromium === undefined) return skip("there is no chromium on the PATH");
  const hostile = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
  const metrics = createRelayMetrics();
  let looks = 0;
  const relay = {
    status() {
      looks += 1;
      return [notFollowed(hostile, { code: "Invalid", message: `look ${looks}: ${hostile}` })];
    },
  };
  // For the browser time flies, too.
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + looks * 10_000,
    wallTime: () => new Date(systemClock.wallTime().getTime() + looks * 10_000),
  };
  const server = await startRelayServer({
    ...{ relay, metrics, values: metrics.values, clock },
    bindAddress: "127.0.0.1",
    port: 0,
  });
  const profile = await mkdtemp(join(tmpdir(), "chromium-"));
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    `--user-data-dir=${profile}`,
    "--enable-logging=stderr",
  ];
  const { stdout, stderr } = await run(chromium, [
    ...flags,
    "--virtual-time-budget=12000",
    "--dump-dom",
    server.url,
  ]);
  await server.close();
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  expect(stdout).toContain("<title>serverless-ccm: 0 of 1 clusters ready</title>");
  expect(stdout).toContain("&lt;img src=x onerror=");
  expect(stdout).toMatch(/look [2-9]:/);
  // What the policy forbids, a browser says.
  expect(stderr).not.toMatch(/Content Security Policy|Refused to/);
});
