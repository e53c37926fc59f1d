import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { NEWEST_MINOR, OLDEST_MINOR } from "#cli/doctor/api-server.ts";
import { CHECK_TIMEOUT_MS, listChecks } from "#cli/doctor/checks.ts";
import { findRemedy, REMEDY_CODES } from "#cli/explain/explanation.ts";
import { runProgram } from "#test/cli/program.ts";
import { ROOT } from "../../build/bundle.ts";
import { insertHelp } from "../../build/commands-page.ts";

const page = await readFile(join(ROOT, "docs/reference/commands.md"), "utf8");
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| `([^`]+)` \| (.*?) \|$/gm)].map(([, name = "", words = ""]) => [name, words]);

const sectionOf = (command: string): string => page.split(`## ${command}\n`)[1]?.split("\n## ", 1)[0] ?? "";

test("the page has every command with its help", async () => {
  const { stdout } = await runProgram(["--help"], "", { COLUMNS: "200" });
  const helped = stdout.split("\n\nRun:\n")[1] ?? "";
  const commands = [...helped.replaceAll(/\n {30,}/g, " ").matchAll(/^ {2}([a-z]+)(?: \S+)*? {2,}(\S.*)$/gm)]
    .map(([, name = "", summary = ""]) => [name, summary])
    .filter(([name]) => name !== "help");
  const [table = ""] = page.split("## Run the program");
  expect(rows(table)).toEqual(commands);
});

test("the page shows the help of commands as the program prints it, including flags", async () => {
  expect(await insertHelp(page)).toBe(page);
}, 240_000);

test.each(["run", "relay", "demo", "clusters", "handover", "handback"])(
  "the page has a section for %s, with its help",
  (command) => {
    expect(sectionOf(command)).toContain(
      `<!-- help of ${command} -->\n\`\`\`text\nUsage: serverless-ccm ${command} `,
    );
  },
);

test("every subcommand of clusters has its help on the page", () => {
  const [, help = ""] = sectionOf("clusters").split("Commands:\n");
  const names = [...(help.split("```", 1)[0] ?? "").matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
  expect(
    names.filter((name) => name !== "help" && !page.includes(`<!-- help of clusters ${name} -->`)),
  ).toEqual([]);
  expect(names.length).toBeGreaterThan(4);
});

test("the page has every check of doctor, in order", () => {
  const signer = { name: "…", role: "relay", identities: ["relay"] } as const;
  const section = sectionOf("doctor");
  expect(rows(section).map(([name]) => name)).toEqual(
    listChecks({ signers: [signer] }, true).map(({ name }) => name),
  );
  expect(section).toContain(`1.${OLDEST_MINOR} to 1.${NEWEST_MINOR}`);
  expect(section).toContain(`longer than ${CHECK_TIMEOUT_MS / 1_000} seconds`);
});

test("the page has every flag of infra authentication-config", async () => {
  const { stdout } = await runProgram(["infra", "authentication-config", "--help"]);
  const helped = [...stdout.matchAll(/^ {2}(--[a-z-]+) /gm)].map(([, flag]) => flag);
  const table = sectionOf("infra authentication-config")
    .split("\n")
    .filter((line) => line.startsWith("| `--"));
  const flags = table.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`(--[a-z-]+)`/g)].map(([, flag]) => flag),
  );
  expect(helped.length).toBeGreaterThan(15);
  expect(flags.toSorted()).toEqual(helped.toSorted());
});

test("explain knows every code on the page about errors", async () => {
  const text = await readFile(join(ROOT, "docs/how-to/troubleshoot.md"), "utf8");
  const codes = [...text.matchAll(/`([A-Z][a-z]+(?:[A-Z][A-Za-z]+)*)`/g)].map(([, code = ""]) => code);
  expect(codes.length).toBeGreaterThan(8);
  expect(codes.filter((code) => findRemedy(code) === undefined)).toEqual([]);
});

test("the page of codes has every known code, with the text of explain", async () => {
  const text = await readFile(join(ROOT, "docs/reference/codes.md"), "utf8");
  const section = text.split("## Of objects\n")[1]?.split("\n## ", 1)[0] ?? "";
  expect(rows(section)).toEqual(REMEDY_CODES.map((code) => [code, findRemedy(code)]));
  const refusals = text.split("## Of whole invocations\n")[1]?.split("\n## ", 1)[0] ?? "";
  const sources = await Promise.all(
    [
      "functions/parts/controller-function.ts",
      "src/cli/run/in-process-functions.ts",
      "src/platforms/lambda/invoker.ts",
    ].map((file) => readFile(join(ROOT, file), "utf8")),
  );
  const codes = rows(refusals).map(([code]) => code);
  expect(codes.length).toBe(5);
  expect(codes.filter((code) => !sources.some((source) => source.includes(`"${code}"`)))).toEqual([]);
});
