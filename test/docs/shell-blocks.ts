/** A block of commands on a page. */
export interface ShellBlock {
  readonly line: number;
  readonly commands: string;
  /** Why it does not run, from a comment before the block; undefined if it runs. */
  readonly notRun: string | undefined;
}

// In a list both lines and the commands are indented.
const BLOCK = /(?:<!-- not run: (?<reason>.+) -->\n)?(?<indent> *)```sh\n(?<commands>[\s\S]*?)```/g;

/** Returns the command blocks of a Markdown page, which begin with three backticks and `sh`. */
export function parseShellBlocks(page: string): ShellBlock[] {
  return [...page.matchAll(BLOCK)].map(({ index, groups }) => ({
    line: page.slice(0, index).split("\n").length,
    commands: (groups?.["commands"] ?? "").replaceAll(new RegExp(`^${groups?.["indent"] ?? ""}`, "gm"), ""),
    notRun: groups?.["reason"],
  }));
}

/** Returns the commands of one program in a block, one line each. */
export function listCommands(program: string, { commands }: ShellBlock): string[] {
  const lines = commands.replaceAll(/\\\n\s*/g, " ").split("\n");
  return lines.filter((line) => line.startsWith(`${program} `)).map((line) => line.replace(/\s+#.*$/, ""));
}

/** Returns the YAML blocks that begin with a file name, as pairs of name and content. */
export function parseNamedFiles(page: string): [string, string][] {
  return [...page.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g)].map(([, file = "", text = ""]) => [
    file,
    text,
  ]);
}
