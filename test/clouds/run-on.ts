import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ended, type Running, runProgram, startProgram } from "#test/cli/program.ts";

/** A wrong configuration: what is wrong, the `--cloud-config`, the environment, and what is said of it. */
export type RefusedRun = readonly [
  given: string,
  config: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string>>,
  messages: readonly string[],
];

/** `run` on one cloud, with a kubeconfig of a cluster that is not there. */
export interface RunOn {
  /** To its end. */
  run(config: object, environment: Readonly<Record<string, string>>): Promise<Ended>;
  /** Goes on until it is ended. */
  start(config: object, environment: Readonly<Record<string, string>>): Promise<Running>;
}

/** What of a kind is read here. */
interface Kind {
  readonly provider: string;
  readonly environment: Readonly<Record<string, readonly string[]>>;
}

/** `secrets` are the variables beside those of the kind that hold one; none of them is taken from the machine. */
export function runOn({ provider, environment: supplied }: Kind, secrets: readonly string[]): RunOn {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), `run-${provider}-`));
    const kubeconfig = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "blue", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "blue", user: { token: "s3cret" } }],
      contexts: [{ name: "blue", context: { cluster: "blue", user: "blue" } }],
      "current-context": "blue",
    };
    await writeFile(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const none = Object.fromEntries([...Object.values(supplied).flat(), ...secrets].map((name) => [name, ""]));
  const flagsOf = async (config: object): Promise<string[]> => {
    await writeFile(join(folder, "cloud.yaml"), JSON.stringify(config));
    const files = ["--cloud-config", join(folder, "cloud.yaml"), "--kubeconfig", join(folder, "kubeconfig")];
    return ["run", "--cloud-provider", provider, "--port", "0", ...files];
  };
  return {
    run: async (config, environment) => runProgram(await flagsOf(config), "", { ...none, ...environment }),
    start: async (config, environment) => startProgram(await flagsOf(config), { ...none, ...environment }),
  };
}

/** Each ends with 2 and says what is wrong, and not the secret. */
export function refusesToRun({ run }: RunOn, secret: string, rows: readonly RefusedRun[]): void {
  test.each(rows)("run with %s ends with 2 and says so", async (_, config, environment, messages) => {
    const { code, stderr } = await run(config, environment);
    expect(code).toBe(2);
    for (const message of messages) expect(stderr).toContain(message);
    expect(stderr).not.toContain(secret);
  });
}

/** One that has the form of a secret and is none is told when it begins, and is no reason to end: by the time it may be the right one. */
export async function tellsOfWrongSecret(
  { start }: RunOn,
  config: object,
  environment: Readonly<Record<string, string>>,
  words: string,
): Promise<void> {
  const program = await start(config, environment);
  const line = await program.line("ConfigurationUnchecked");
  expect(line).toMatchObject({ level: "warn", message: expect.stringContaining(words) });
  await program.end("SIGKILL");
  const said = JSON.stringify(program.lines);
  for (const secret of Object.values(environment).filter((value) => !value.startsWith("http")))
    expect(said).not.toContain(secret);
}
