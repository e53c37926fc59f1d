import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * Measures the milliseconds of importing a module in a new process, the median of `runs` processes in
 * sequence.
 */
export async function importTimeMs(file: string, runs: number): Promise<number> {
  const source = `const start = performance.now(); await import(${JSON.stringify(pathToFileURL(file).href)}); console.log(performance.now() - start);`;
  const times: number[] = [];
  for (let i = 0; i < runs; i += 1) {
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", source]);
    times.push(Number(stdout));
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? Number.NaN;
}
