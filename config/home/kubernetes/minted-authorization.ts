import type { MintedToken } from "#config/home/kubernetes/mint-token.ts";
import type { Authorization } from "#kube/client/transport.ts";

/** Of a token's life, after which it is renewed. */
const RENEWED_AFTER = 0.75;
/** A renewal that failed is tried again after so long, while the token still holds. */
const AGAIN_MS = 30_000;

/** Signs requests in with a token that is minted anew well before it ends, and at once where the server refuses it. */
export function mintedAuthorization(
  mint: () => Promise<MintedToken>,
  now: () => number = Date.now,
): Authorization {
  let known: { readonly header: string; readonly renewAt: number; readonly expiresAt: number } | undefined;
  let minting: Promise<string> | undefined;

  async function renew(): Promise<string> {
    const asked = now();
    try {
      const { token, expiresAt } = await mint();
      known = { header: `Bearer ${token}`, renewAt: asked + (expiresAt - asked) * RENEWED_AFTER, expiresAt };
      return known.header;
    } finally {
      minting = undefined;
    }
  }

  return async (_signal, options) => {
    const isFresh = options?.fresh === true;
    if (!isFresh && known !== undefined && now() < known.renewAt) return known.header;
    minting ??= renew();
    try {
      return await minting;
    } catch (error) {
      if (isFresh || known === undefined || now() >= known.expiresAt) throw error;
      known = { ...known, renewAt: now() + AGAIN_MS };
      return known.header;
    }
  };
}
