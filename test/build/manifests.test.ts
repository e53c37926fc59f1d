import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../build/bundle.ts";
import { MANIFESTS } from "../../build/manifests.ts";

test.each(MANIFESTS.map((manifest) => [manifest.file, manifest] as const))(
  "%s is as `npm run manifests` writes it",
  async (file, { build }) => {
    const text = await readFile(join(ROOT, file), "utf8").catch(() => "");
    expect(text, `${file} differs from src/core/rights.ts: run \`npm run manifests\``).toBe(build(text));
  },
);

test("a manifest is written for every identity and every folder of rights", () => {
  const files = MANIFESTS.map(({ file }) => file);
  expect(new Set(files).size).toBe(files.length);
  for (const file of ["relay", "csr-approver/csr", "tagging/sweep", "kubevip/service", "writes-relay/relay"])
    expect(files).toContain(`infra/rbac/${file}.yaml`);
});

test("the comment at the head of a manifest stays, and its rules follow the rights", () => {
  const build = (text: string) =>
    MANIFESTS.find(({ file }) => file === "infra/rbac/ec2-events.yaml")?.build(text) ?? "";
  const text = build("# Why.\nkind: Other\n");
  expect(text).toMatch(/^# Why\.\n# `npm run manifests` writes [^\n]*\napiVersion: /);
  expect(text).toContain('  - apiGroups: [""]\n    resources: [nodes]\n    verbs: [list]\n---\n');
  expect(build(text)).toBe(text);
  expect(build("")).toMatch(/^# The rights of serverless-ccm-ec2-events\.\n/);
});
