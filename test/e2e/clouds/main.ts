import { parseArgs } from "node:util";
import { getErrorMessage } from "#core/sanitize-text.ts";
import { listManifests } from "#test/clouds/worlds.ts";
import { type CloudResult, playCloud, WHOLE_LIFE } from "#test/e2e/clouds/play-cloud.ts";
import { startRealCluster } from "#test/e2e/clouds/stage-plane.ts";
import { STAGED_CLOUDS } from "#test/e2e/clouds/staged-clouds.ts";
import { getControlPlaneBinaries } from "#test/setup/control-plane-binaries.ts";

// `npm run test:clouds`: the life of nodes, and of a Service if the cloud has load balancers, on a real API
// server, with each cloud's fake. --cloud, which may be repeated, selects single clouds. Nothing is left of a
// Service's load balancer, whether it is deleted with an address or before.

/** The maximum of printed problems of a cloud. */
const MAX_PROBLEMS = 5;

const { values } = parseArgs({ options: { cloud: { type: "string", multiple: true } } });
const providers = values.cloud ?? Object.keys(STAGED_CLOUDS);
const unknown = providers.filter((provider) => !Object.hasOwn(STAGED_CLOUDS, provider));
if (unknown.length > 0)
  throw new Error(`${unknown.join(", ")}: give some of ${Object.keys(STAGED_CLOUDS).join(", ")}`);
const binaries = await getControlPlaneBinaries((line) => process.stderr.write(`${line}\n`));
if (binaries.kind === "missing") throw new Error(`there is no real API server: ${binaries.because}`);

const rows: string[] = [];
let failed = 0;
for (const provider of providers) {
  const startedAt = performance.now();
  const played = await play(provider);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  if (!isWell(played)) failed += 1;
  rows.push(rowOf(provider, played, seconds));
  const words = typeof played === "string" ? `failed (${played})` : isWell(played) ? "passed" : "failed";
  process.stderr.write(`${provider}: ${words} in ${seconds} s\n`);
}
process.stdout.write(
  [
    "| cloud | nodes up | naked | requests | deleted | wrongly | Services | seconds |",
    "|---|---:|---:|---:|---:|---:|---|---:|",
    ...rows,
    "",
    `${providers.length - failed} passed, ${failed} failed`,
    "",
  ].join("\n"),
);
process.exitCode = failed === 0 ? 0 : 1;

/** Returns the result of a cloud, or why it did not finish. */
async function play(provider: string): Promise<CloudResult | string> {
  const stage = STAGED_CLOUDS[provider];
  if (stage === undefined || binaries.kind === "missing") return "it cannot be played";
  const cloud = await stage();
  const cluster = await startRealCluster(binaries.value, listManifests(cloud.provider, cloud.manifests));
  try {
    const played = await playCloud(cloud, cluster, WHOLE_LIFE);
    await cloud.close();
    return played;
  } catch (error) {
    await cloud.close().catch(() => undefined);
    return getErrorMessage(error);
  } finally {
    await cluster.close();
  }
}

function isWell(played: CloudResult | string): boolean {
  if (typeof played === "string") return false;
  const { up, naked, deleted, deletedWrongly, isToldOfGone, problems } = played;
  return (
    up === WHOLE_LIFE.nodes &&
    deleted === (isToldOfGone ? WHOLE_LIFE.gone : 0) &&
    [naked, deletedWrongly, problems.length].every((each) => each === 0)
  );
}

function rowOf(name: string, played: CloudResult | string, seconds: number): string {
  if (typeof played === "string") return `| ${name} | FAILED: ${played} | | | | | | ${seconds} |`;
  const { up, naked, requests, deleted, deletedWrongly, isToldOfGone, services, problems } = played;
  const wrong = problems.slice(0, MAX_PROBLEMS).map((issue) => `\n    FAILED: ${issue}`);
  const cells = [
    ...[name, up, naked, requests],
    isToldOfGone ? deleted : `${deleted}: unknown`,
    deletedWrongly,
    servicesCell(services),
    seconds,
  ];
  return `| ${cells.join(" | ")} |${wrong.join("")}`;
}

function servicesCell(services: CloudResult["services"]): string {
  if (typeof services === "string") return `see \`${services}\``;
  const names = [...new Set(services.map(({ name }) => name))];
  const lives = names.map((name) => {
    const gone = services.filter((life) => life.name === name).map((life) => life.gone);
    return `${name}: gone ${gone.join(", and ")}`;
  });
  return lives.join("; ") || "none";
}
