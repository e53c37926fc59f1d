import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "./bundle.ts";

const run = promisify(execFile);

/** The page of all commands, with the help of each below a marker. */
export const COMMANDS_PAGE = join(ROOT, "docs/reference/commands.md");

const BLOCK = /(<!-- help of ([a-z -]+) -->\n```text\n)[\s\S]*?(```\n)/g;

/** Returns the output of a command's `--help`, in lines of a page's width. */
export async function readHelp(command: string): Promise<string> {
  const main = join(ROOT, "src/cli/main.ts");
  const env = { ...process.env, COLUMNS: "118", NO_COLOR: "1" };
  const { stdout } = await run(process.execPath, [main, ...command.split(" "), "--help"], { env });
  return stdout.replaceAll(/ +$/gm, "");
}

/** Returns a page with the help of each command that one of its markers names. */
export async function insertHelp(page: string): Promise<string> {
  const commands = [...page.matchAll(BLOCK)].map(([, , command = ""]) => command);
  const helps = new Map<string, string>();
  // One after another: each is a process.
  for (const command of commands) helps.set(command, await readHelp(command));
  return page.replaceAll(
    BLOCK,
    (_, head: string, command: string, end: string) => `${head}${helps.get(command)}${end}`,
  );
}

if (import.meta.main) await writeFile(COMMANDS_PAGE, await insertHelp(await readFile(COMMANDS_PAGE, "utf8")));
