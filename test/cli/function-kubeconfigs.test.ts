import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readFunctionAccess } from "#cli/settings/cluster-settings.ts";
import type { ConfigurationFault } from "#core/config-errors.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "function-kubeconfigs-"));
  for (const name of ["one", "a=b"]) await writeFile(join(folder, name), kubeconfigOf(name));
  await writeFile(join(folder, "rubbish"), "s3cret: [");
});
afterAll(() => rm(folder, { recursive: true }));

const kubeconfigOf = (token: string): string =>
  JSON.stringify({
    clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:6443" } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });

describe("--function-kubeconfig", () => {
  test("gives functions their own identities, from files of any name", async () => {
    const given = [`node-lifecycle=${join(folder, "one")}`, `sweep=${join(folder, "a=b")}`];
    const faults: ConfigurationFault[] = [];
    const access = await readFunctionAccess(given, faults);
    expect(faults).toEqual([]);
    expect([...access.keys()]).toEqual(["node-lifecycle", "sweep"]);
    expect(await access.get("node-lifecycle")?.authorization()).toBe("Bearer one");
    expect(await access.get("sweep")?.authorization()).toBe("Bearer a=b");
  });

  test.each<{ given: string[]; faults: readonly [string, string][] }>([
    { given: ["one"], faults: [["--function-kubeconfig", '"one" names no function and its file']] },
    { given: ["=one"], faults: [["--function-kubeconfig", '"=one" names no function and its file']] },
    { given: ["node="], faults: [["--function-kubeconfig", '"node=" names no function and its file']] },
    { given: ["relay=one"], faults: [["--function-kubeconfig", "node or node-lifecycle or csr"]] },
    { given: ["node=one", "node=one"], faults: [["--function-kubeconfig", "names node twice"]] },
    { given: ["csr=absent"], faults: [["--function-kubeconfig csr", "absent cannot be read (ENOENT)"]] },
    { given: ["csr=rubbish"], faults: [["--function-kubeconfig csr", "rubbish is not a kubeconfig"]] },
    {
      given: ["what=one", "sweep=absent"],
      faults: [
        ["--function-kubeconfig", '"what=one" names no function'],
        ["--function-kubeconfig sweep", "absent cannot be read"],
      ],
    },
  ])("$given is a fault that names the flag", async ({ given, faults: expected }) => {
    const faults: ConfigurationFault[] = [];
    await readFunctionAccess(
      given.map((each) => each.replace(/=(?=.)/, `=${folder}/`)),
      faults,
    );
    expect(faults.map(({ name, message }) => [name, message.replaceAll(`${folder}/`, "")])).toEqual(
      expected.map(([name, words]) => [name, expect.stringContaining(words)]),
    );
    expect(JSON.stringify(faults)).not.toContain("s3cret");
  });
});
