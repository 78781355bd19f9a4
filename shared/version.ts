/**
 * Product version (semver). Distinct from the account API's and Connect's protocol numbers
 * (VER-005).
 */
export const PRODUCT_VERSION = "0.5.0";
