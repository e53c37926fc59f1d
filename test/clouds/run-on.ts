import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Ended, type Running, runProgram, startProgram } from "#test/cli/program.ts";

/** A wrong configuration: the error, the `--cloud-config`, the environment, and the expected message. */
export type RefusedRun = readonly [
  given: string,
  config: Readonly<Record<string, unknown>>,
  environment: Readonly<Record<string, string>>,
  messages: readonly string[],
];

/** `run` on one cloud, with a kubeconfig of an unreachable cluster. */
export interface RunOn {
  /** Runs to the end. */
  run(config: object, environment: Readonly<Record<string, string>>): Promise<Ended>;
  /** Starts and runs until it is ended. */
  start(config: object, environment: Readonly<Record<string, string>>): Promise<Running>;
}

/** The fields of a provider that are read here. */
interface Kind {
  readonly provider: string;
  readonly environment: Readonly<Record<string, readonly string[]>>;
}

/** Prepares `run`; `secrets` are further variables with a secret. None of them is taken from the machine. */
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

/** Tests that each run ends with 2 and reports the error without the secret. */
export function testRefusedRuns({ run }: RunOn, secret: string, rows: readonly RefusedRun[]): void {
  test.each(rows)("run with %s ends with 2 and says so", async (_, config, environment, messages) => {
    const { code, stderr } = await run(config, environment);
    expect(code).toBe(2);
    for (const message of messages) expect(stderr).toContain(message);
    expect(stderr).not.toContain(secret);
  });
}

/**
 * Tests that a wrong but well-formed secret is reported at the start and does not end `run`: it may become
 * valid later.
 */
export async function testWrongSecret(
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
