import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { parseShellBlocks, type ShellBlock } from "#test/docs/shell-blocks.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";
import { ROOT } from "../../build/bundle.ts";

const PAGE = "docs/tutorial/first-cluster.md";
const text = await readFile(join(ROOT, PAGE), "utf8");

/** Blocks in a separate terminal continue during the others. */
const BESIDE = "<!-- in a terminal of its own -->\n```sh\n";
const own = text
  .split(BESIDE)
  .slice(1)
  .map((rest) => rest.split("```", 1)[0] ?? "");
const blocks = parseShellBlocks(text).filter(
  ({ notRun, commands }) => notRun === undefined && !own.includes(commands),
);

/**
 * Matches the output that the page shows after a block. `…` stands for any text in a line, and alone for any
 * lines.
 */
function shownOf({ commands }: ShellBlock): RegExp {
  const behind = text.slice(text.indexOf(commands) + commands.length);
  const [, shown = ""] = /^```\n\n```text\n([\s\S]*?)```/.exec(behind) ?? [];
  const lines = shown.split("\n").slice(0, -1);
  const patterns = lines.map((line) =>
    line === "…" ? "[\\s\\S]*" : `${line.split("…").map(escaped).join(".*")}\n`,
  );
  return new RegExp(`^${patterns.join("")}\\n*$`);
}

describe("the tutorial, typed by a newcomer", () => {
  let folder = "";
  let terminal: ChildProcess;
  let sandbox: ChildProcess;
  let printed = "";
  let told = "";
  let complaints = "";

  beforeAll(async () => {
    // A separate checkout with its own `sandbox` folder.
    folder = await realpath(await mkdtemp(join(tmpdir(), "tutorial-")));
    for (const name of await readdir(ROOT)) await symlink(join(ROOT, name), join(folder, name));
    const environment = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
    const port = String(await findFreePort());
    const start = (commands: string): ChildProcess =>
      spawn("sh", ["-euc", commands.replaceAll("10258", port)], {
        ...{ cwd: folder, env: environment, detached: true },
        stdio: ["ignore", "pipe", "pipe"],
      });
    sandbox = start(own.join("\n"));
    sandbox.stdout?.on("data", (chunk: Buffer) => (printed += chunk));
    sandbox.stderr?.on("data", (chunk: Buffer) => (printed += chunk));
    await waitUntilTrue(
      "the sandbox",
      () => printed.includes("Everything runs") || sandbox.exitCode !== null,
      60_000,
    );
    terminal = start(
      blocks.map(({ commands }, index) => `${commands}\nprintf "\\n@@${index}\\n"`).join("\n"),
    );
    terminal.stdout?.on("data", (chunk: Buffer) => (told += chunk));
    terminal.stderr?.on("data", (chunk: Buffer) => (complaints += chunk));
    await once(terminal, "exit");
  }, 180_000);

  afterAll(async () => {
    for (const each of [terminal, sandbox]) await endGroup(each);
    await rm(folder, { recursive: true, force: true });
  });

  test("starts its first command in a separate terminal, with the output on the page", () => {
    expect(own).toHaveLength(1);
    const shown = shownOf({ line: 0, commands: own[0] ?? "", notRun: undefined });
    expect(printed.slice(printed.indexOf("tenant-a:"), printed.indexOf("{"))).toMatch(shown);
  });

  test("runs every command to its end", () => {
    expect(`${told}\n${complaints}`).toContain(`@@${blocks.length - 1}`);
    expect(terminal.exitCode).toBe(0);
    expect(blocks.length).toBeGreaterThan(8);
  });

  test.each(blocks.map((block, index) => ({ line: block.line, block, index })))(
    "prints the output that the page shows after line $line",
    ({ block, index }) => {
      const [, after = ""] = index === 0 ? ["", told] : told.split(`@@${index - 1}\n`);
      expect(`${after.split(`@@${index}\n`, 1)[0]?.trimEnd()}\n`).toMatch(shownOf(block));
    },
  );

  test("leaves no folder after the sandbox ends", async () => {
    await endGroup(sandbox);
    expect(await readdir(folder)).not.toContain("sandbox");
  });
});

const escaped = (part: string): string => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/**
 * Sends the signal to the whole group as Ctrl-C does, and kills the remaining processes when the shell has
 * ended.
 */
async function endGroup(child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined) return;
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit");
    process.kill(-child.pid, "SIGINT");
    await ended;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // All processes have ended.
  }
}
