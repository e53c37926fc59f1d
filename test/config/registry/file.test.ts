import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileRegistry } from "#config/registry/open-registry.ts";
import { writeClustersFile } from "#emulators/harness/clusters-file.ts";
import { describeHome, type OwnedHome } from "#test/config/registry/contract.ts";

async function openFile(): Promise<OwnedHome> {
  const folder = await mkdtemp(join(tmpdir(), "home-"));
  const file = join(folder, "clusters.yaml");
  const entries = new Map<string, unknown>();
  const write = async (): Promise<void> => {
    await writeClustersFile(`${file}.new`, ...entries.values());
    await rename(`${file}.new`, file);
  };
  return {
    home: createFileRegistry(file),
    async write(name, entry) {
      entries.set(name, entry);
      await write();
    },
    async erase(name) {
      entries.delete(name);
      await write();
    },
    break: () => rename(file, `${file}.away`),
    mend: () => rename(`${file}.away`, file),
    close: () => rm(folder, { recursive: true }),
  };
}

describeHome("a file", openFile);
