import { relative } from "node:path";
import type { Plugin } from "esbuild";

/** The parts of clouds that a bundle has. */
export interface IncludedParts {
  /** The names of clouds, as their folders; all by default. */
  readonly clouds?: readonly string[];
  /**
   * The names of parts: `cloud` answers about nodes, `diagnose` and `describe` are for people, and every other
   * part is a folder of capabilities, such as `load-balancers`.
   */
  readonly parts: readonly string[];
}

/** The files that import a cloud's parts on demand. */
const IMPORTER = /\/clouds\/([a-z-]+)\/(?:[a-z-]+\/)*(?:provider|cloud)\.ts$/;
const STUB = "left-out";

/**
 * Leaves out parts of clouds. What `provider.ts` and `cloud.ts` of a cloud import on demand is a part: its
 * name is the file's, if that is `cloud`, `diagnose` or `describe`, or else its folder's. A module that throws
 * when it is loaded replaces each part that is left out.
 */
export function createLeaveOutPlugin(root: string, { clouds, parts }: IncludedParts): Plugin {
  return {
    name: "leave-out",
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /^#clouds\// }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        const cloud = IMPORTER.exec(importer)?.[1];
        if (kind !== "dynamic-import" || cloud === undefined || pluginData === STUB) return undefined;
        const resolved = await resolve(path, { importer, kind, resolveDir, pluginData: STUB });
        const part = getPartName(relative(root, resolved.path));
        const isIncluded = parts.includes(part) && (clouds?.includes(cloud) ?? true);
        return isIncluded ? resolved : { path: part, namespace: STUB, sideEffects: true };
      });
      onLoad({ filter: /.*/, namespace: STUB }, ({ path }) => ({
        contents: `throw new Error(${JSON.stringify(
          `built without this part of the cloud (${path}); npm run build -- --clouds selects clouds`,
        )});`,
      }));
    },
  };
}

function getPartName(file: string): string {
  const [folder = "", name = ""] = file.replace(/\.ts$/, "").split("/").slice(-2);
  return ["cloud", "diagnose", "describe"].includes(name) ? name : folder;
}
