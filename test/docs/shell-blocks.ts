/** A block of commands in a page. */
export interface ShellBlock {
  readonly line: number;
  readonly commands: string;
  /** Why it is not run, where the page says so in a comment before it. */
  readonly notRun: string | undefined;
}

// In a list both lines are indented, and so are the commands.
const BLOCK = /(?:<!-- not run: (?<reason>.+) -->\n)?(?<indent> *)```sh\n(?<commands>[\s\S]*?)```/g;

/** The blocks of commands in a page of Markdown, which are those that begin with three backticks and `sh`. */
export function shellBlocks(page: string): ShellBlock[] {
  return [...page.matchAll(BLOCK)].map(({ index, groups }) => ({
    line: page.slice(0, index).split("\n").length,
    commands: (groups?.["commands"] ?? "").replaceAll(new RegExp(`^${groups?.["indent"] ?? ""}`, "gm"), ""),
    notRun: groups?.["reason"],
  }));
}

/** The commands of one program in a block, each on one line. */
export function commandsOf(program: string, { commands }: ShellBlock): string[] {
  const lines = commands.replaceAll(/\\\n\s*/g, " ").split("\n");
  return lines.filter((line) => line.startsWith(`${program} `)).map((line) => line.replace(/\s+#.*$/, ""));
}

/** The file that a block of YAML says at its beginning that it is, and what is in it. */
export function namedFiles(page: string): [string, string][] {
  return [...page.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g)].map(([, file = "", text = ""]) => [
    file,
    text,
  ]);
}
