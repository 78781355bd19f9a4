/**
 * Every limit of the product in one table. Values are bytes unless the name says otherwise, and
 * UTF-8 bytes for text.
 */
const KiB = 1024;
const MiB = 1024 * KiB;

export const LIMITS = {
  /** What a refusal quotes of a name that the caller gave. */
  quotedCharacters: 80,
  /** What is shown of a conversation of replies at once. */
  thread: { messages: 200 },
  /** Messages to the person that were read and can be marked unread again, per Group. */
  reading: { kept: 1000 },
  /** What an address of the Workbench holds of a longer search. */
  addressSearchCharacters: 500,
  message: {
    textBytes: 64 * KiB,
    recipients: 128,
    attachments: 16,
    /** LIM-028 */
    clientIdBytes: 128,
    quoteBytes: 4 * KiB,
    insightBytes: 4 * KiB,
    refs: 32,
    refBytes: 2 * KiB,
  },
  attachment: {
    uploadBytes: 100 * MiB,
    nameBytes: 4096,
    mimeBytes: 256,
    /** Uploads that no message refers to are removed after this time. */
    orphanHours: 24,
    /** What such uploads may take together. A message with all its allowed files fits. */
    waitingBytes: 2048 * MiB,
    waitingBytesPerHome: 4096 * MiB,
    /** Files of a Group of which is remembered that they were checked. */
    remembered: 10_000,
    /** A pause of this length ends the upload. */
    stallSeconds: 60,
  },
  /** A list of the machine's folders: entries looked at, folders shown, and their paths. */
  folder: { examined: 10_000, listed: 500, pathCharacters: 4096 },
  /** What Actors show beside the conversation (docs/presentations.md). */
  presentation: {
    slots: 4,
    contentBytes: 10 * MiB,
    /** Content in the request itself. */
    textBytes: 128 * KiB,
    titleBytes: 512,
    urlBytes: 2048,
    pathCharacters: 4096,
    /** Versions of a slot that can be stepped back through, newest first. */
    versions: 50,
    /** What is looked at to find out which kind of image or PDF a file is. */
    headBytes: 4 * KiB,
    /** Rows, columns and characters of a cell that the Workbench shows of a table. */
    table: { rows: 1000, columns: 64, cellCharacters: 1000 },
    /** The same of a Markdown text: a long one stops the page while it is rendered. */
    markdownCharacters: 256 * 1024,
  },
  group: {
    perHome: 4096,
    /** How often the daemon tries to open a Group again after a disk failure. */
    reopenSeconds: 30,
    titleBytes: 1024,
    topicBytes: 4096,
    scopes: 64,
    actors: 256,
  },
  actor: {
    titleBytes: 1024,
    commandParts: 64,
    commandPartBytes: 8 * KiB,
    environmentEntries: 128,
    environmentValueBytes: 32 * KiB,
  },
  page: { max: 200, default: 50 },
  statuses: { events: 1000 },
  /** The number of events shown for the beginning of an id. */
  eventPrefix: { found: 10 },
  /**
   * Roughly how much of the ledger one look into an Actor's history may read before it says where
   * to continue.
   */
  history: { scanBytes: 64 * MiB },
  inbox: {
    waitSecondsMax: 50,
    waitSecondsDefault: 25,
    progressSeconds: 15,
    waitersPerActor: 16,
    /** Of one answer to an Actor; clients show a model at most about 60 KB whole. */
    batchBytes: 40_000,
  },
  /** An Actor's session without an open connection ends this long after its last call. */
  actorSession: {
    idleSeconds: 90,
    perActor: 32,
    /**
     * A session that took messages and is silent for this long is stalled, if any of them is still
     * open.
     */
    quietSeconds: 900,
  },
  ledger: {
    /** The active file is extended ahead of time in steps of this many bytes of line feeds. */
    extendBytes: 1 * MiB,
    /** The active file is sealed automatically beyond this size. */
    segmentBytes: 64 * MiB,
    lineBytes: 1 * MiB,
    /** Problems that a verification names. */
    problems: 100,
    /** The author of an event in an import. */
    authorBytes: 512,
    /**
     * Events of an import with one idempotency key. The ledger itself has one, and one more for
     * every import on the way.
     */
    importedPerKey: 64,
    /** The maximum bytes and lines in one write and its sync. */
    batchBytes: 1 * MiB,
    batchLines: 4096,
    /** A batch waits at most this long for more events, and only after small batches. */
    gatherMicroseconds: 100,
    pendingBytes: 64 * MiB,
    searchScanBytes: 256 * MiB,
    /** The same for a search without words. */
    filterScanBytes: 32 * MiB,
    /** Up to this many bytes of a segment are searched line by line. Larger parts get a filter. */
    searchFilterBytes: 1 * MiB,
  },
  body: {
    /** Any JSON body that an operation accepts. */
    jsonBytes: 1 * MiB,
    jsonDepth: 64,
    headerBytes: 16 * KiB,
    headerFields: 100,
    importBytes: 4096 * MiB,
    /** One line of an import. */
    importValues: 256 * 1024,
  },
  http: {
    requestSeconds: 30,
    keepAliveSeconds: 65,
    connections: 4096,
    /** However few descriptors the process may have. */
    fewestConnections: 16,
    /** Connections that may wait to be accepted. The kernel may use a lower limit. */
    waiting: 4096,
    /** Failed authentications per address and minute before 429. */
    authFailuresPerMinute: 20,
    sessionDays: 30,
    /**
     * Browser sessions. Beyond that, or if a new one finds no room among the access tokens, the
     * oldest ends.
     */
    sessions: 256,
    /** Addresses whose failed authentications are counted at the same time. */
    failingAddresses: 4096,
  },
  /** Files and connections that the process may have open. */
  descriptors: {
    /** For the daemon's own files, Direct connections and programs. */
    reserved: 128,
    /**
     * Of the others: for the Web port, the exhibit, and the sockets of the person and each Actor.
     */
    webShare: 0.4,
    exhibitShare: 0.1,
    localShare: 0.2,
    actorShare: 0.05,
    /** What the port of the account service may have of its own. */
    accountShare: 0.8,
    /** A Group is opened only while so many more are free than the ports may take. */
    freeForGroup: 32,
    /** A lower limit is told. */
    few: 1024,
  },
  stream: {
    clients: 2048,
    /** Bytes that may wait for one slow client before it is told to resume and is closed. */
    bufferBytes: 1 * MiB,
    heartbeatSeconds: 15,
    subscriptionsPerSocket: 64,
    inboundMessageBytes: 16 * KiB,
    resumeEvents: 10_000,
  },
  loginLink: { minutes: 5, live: 8 },
  accessToken: { perHome: 256, nameBytes: 128 },
  notices: { maxSeconds: 30 * 24 * 3600 },
  notifications: {
    /** What waits for the person, as a stream lists it, newest first. */
    items: 128,
    /** What waits again within this time is the same and isn't announced again. */
    forgetSeconds: 600,
    /** A window without the focus lets one that has it announce first. */
    othersMilliseconds: 150,
    /** Web Push is sent if no window has announced it for this long. */
    windowSeconds: 3,
    /** And if a window has, and it still waits after this long. */
    awaySeconds: 60,
  },
  push: {
    subscriptions: 32,
    endpointCharacters: 1024,
    /** Of a Group's and an Actor's title, because push services accept 4 KiB in all. */
    titleCharacters: 120,
    /** How long a push service keeps a notification for a phone that it doesn't reach. */
    keptSeconds: 3600,
    requestSeconds: 15,
    answerBytes: 16 * KiB,
    /** Notifications of one subscription. Beyond that they are counted as failed. */
    perMinute: 20,
    reasonCharacters: 200,
  },
  client: {
    /** How long the socket client waits for bytes of an answer. Longer than any operation waits. */
    callSeconds: 600,
    /**
     * After this long without an answer, the client asks whether the daemon is alive at all. The
     * daemon then has this long to answer.
     */
    quietSeconds: 10,
    aliveSeconds: 5,
    /** How long `svc doctor` and `svc daemon status` wait. */
    statusSeconds: 5,
    streamLineBytes: 4 * MiB,
    retryMillisecondsMax: 2000,
    /**
     * How long, and how often, the client retries while the daemon's queue of connections is full.
     */
    crowdedSeconds: 10,
    crowdedPauseMilliseconds: 20,
  },
  /** What is told of a damaged ledger: sentences, and ranges of missing events. */
  ledgerDamage: { problems: 20, ranges: 100 },
  health: {
    /** How long the checks look more closely before they tell what they have found so far. */
    lookSeconds: 3,
  },
  mcp: {
    toolListBytes: 16 * KiB,
    helpBytes: 4 * KiB,
    sessions: 256,
    sessionIdleSeconds: 3600,
    settleSeconds: 2,
  },
  /** The runtime activity channel (docs/protocol.md#activity-limits). */
  activity: {
    /** Records that one Group keeps. */
    records: 256,
    recordSeconds: 300,
    /** Ended activities that a new snapshot shows. */
    snapshotSeconds: 15,
    browser: { activeSeconds: 300, completedSeconds: 8, stuckSeconds: 60, records: 256 },
    hook: {
      payloadBytes: 1 * MiB,
      waitSeconds: 3,
      /** A path in a payload. */
      pathBytes: 4096,
      /** Events of one Actor that may wait for the disk. */
      pending: 256,
    },
    /**
     * Ids that each fence remembers per Actor: used operations, seen turns, ended sessions,
     * subagents.
     */
    remembered: { operations: 4096, turns: 256, sessions: 32, subagents: 256 },
    /**
     * A working Actor whose terminal and hooks are silent for this long no longer counts as
     * working.
     */
    silenceSeconds: 120,
    /**
     * The same for an Actor of which only background subagents work. Their tools show nothing in
     * its terminal.
     */
    subagentSilenceSeconds: 1800,
    /**
     * A turn that is only assumed, because hooks don't report it, ends when the terminal is silent
     * for this long.
     */
    assumedSilenceSeconds: 10,
    /**
     * An error on the screen of a Codex in a turn counts once terminal and hooks are silent for
     * this long, because Codex draws all the time while it works.
     */
    errorSilenceSeconds: 2,
  },
  /** Permissions and questions of runtimes that are answered through svc (docs/runtimes.md). */
  questions: {
    /**
     * One that has just appeared takes no answer for this long: a click or a second press of a key
     * may have been meant for what was there before.
     */
    settlesMs: 500,
    /** After this long, one can only be answered in its terminal. */
    openSeconds: 12 * 3600,
    /**
     * The hook that waits ends this much later at the latest, and its runtime ends it after twice
     * as much, because a runtime reports that as a failure.
     */
    graceSeconds: 30,
    /** Open at the same time. */
    perActor: 16,
    /** What a person would be shown of one. A larger one is asked only in the terminal. */
    shownBytes: 64 * KiB,
    /** What a tool is called with: the most members that are shown one by one. */
    details: 64,
    /** Questions that an agent asks at once, and the choices of one. */
    asked: 8,
    choices: 16,
    answerBytes: 4 * KiB,
    /** How closed ones ended, of all Groups. */
    remembered: 256,
  },
  /** What a webview in an editor and the extension host exchange (shared/webview-protocol.ts). */
  webview: {
    /** Requests of one webview that aren't answered yet, and what it follows at the same time. */
    requests: 64,
    followed: 32,
    /** Deltas of one followed channel that may wait to be seen before it pauses. */
    unseenDeltas: 256,
    deltasPerMessage: 64,
    /** Bytes of files go in pieces; this many may wait to be acknowledged. */
    pieceBytes: 256 * KiB,
    pieces: 4,
    addressCharacters: 8192,
    referenceCharacters: 1024,
    /** Small view state, per window. */
    memoryKeys: 512,
    memoryKeyCharacters: 64,
    memoryValueCharacters: 512 * KiB,
    /** Of all webviews of a window together. The oldest is forgotten first. */
    memoryCharacters: 4 * MiB,
  },
  /** The person's login shell, asked once for its environment. */
  loginShell: {
    seconds: 15,
    outputBytes: MiB,
  },
  /** Terminals of Actors that the daemon runs. */
  terminal: {
    columns: 120,
    rows: 32,
    columnsMax: 500,
    rowsMax: 300,
    /** Fewer rows, and a program may not show its input line. */
    rowsOfInput: 10,
    /** A terminal keeps the size of the last window that was open for it for this long. */
    keepSizeSeconds: 2,
    scrollbackLines: 5000,
    /** Output that may wait to be drawn on the daemon's own screen before the process waits. */
    backlogBytes: 8 * MiB,
    /** Unacknowledged output of a viewer. Beyond it the viewer gets a fresh screen instead. */
    windowBytes: 512 * KiB,
    inputBytes: 64 * KiB,
    /** Input that may wait for a process that doesn't read. Beyond it nothing more is taken. */
    unreadBytes: 16 * MiB,
    /** Answers of the terminal that may wait for it. Further ones are dropped. */
    answerBytes: 64 * KiB,
    /** A process that hasn't read waiting input for this long is shown as one that doesn't read. */
    stuckSeconds: 3,
    viewers: 32,
    /** After it is told to end, a process has this long before it is killed. */
    stopSeconds: 5,
  },
  /** A runtime's own history of a conversation, when it decides what was taken. */
  promptHistory: {
    /** Read at once. */
    pieceBytes: 4 * MiB,
    /** The longest line, and the most of a file. Beyond, it isn't known what was taken. */
    lineBytes: 32 * MiB,
    fileBytes: 512 * MiB,
  },
  prompt: {
    /** Messages in one prompt, and the bytes at which a batch ends. */
    messages: 20,
    batchBytes: 96 * KiB,
    /** After a delivery, an idle runtime has this long to prove that it took the prompt. */
    evidenceSeconds: 20,
    /** A busy one queues the prompt. After this long, no proof is expected. */
    busySeconds: 3600,
    /** After this long, a start without a sign of reading is reported as one. */
    readySeconds: 30,
    /**
     * If a runtime doesn't list our tools at its start, it gets its prompts without them after this
     * long.
     */
    toolsSeconds: 15,
    /** After a person's key press, nothing is inserted into what they may be writing. */
    typingSeconds: 3,
    /** If the input line doesn't show a paste within this time, Enter never follows. */
    pasteSeconds: 10,
    /** The screen that decides whether a message goes in is checked at most this often. */
    lookMs: 100,
    /** After a paste, the input line is checked this often, until it shows the paste. */
    pasteLookMs: 15,
  },
  /** The daemon's log. One older file of this size stays next to it. */
  log: {
    fileBytes: 4 * MiB,
    linesShown: 10_000,
    /** Lines of one event. Further ones are only counted. */
    eventLinesPerMinute: 120,
  },
  direct: {
    relations: 64,
    /** Channels of approved connections. */
    channels: 64,
    /**
     * Connections without an approved hello: from strangers in total, from one address, and with
     * the key of one relation.
     */
    unadmitted: 16,
    unadmittedPerAddress: 4,
    unadmittedPerKey: 2,
    invitationMinutes: 30,
    invitationCharacters: 8192,
    frameBytes: 14 * MiB,
    /**
     * JSON of a frame without its files and the message's text, and the values in it: the most that
     * a catalog page can have.
     */
    jsonBytes: 2560 * KiB,
    jsonValues: 128 * 1024,
    /** What a frame adds to the answer in it. */
    frameShellBytes: 256,
    /** Answers without a request, and pings in ten seconds, before the channel ends. */
    strayAnswers: 4,
    pings: 64,
    helloBytes: 8 * KiB,
    /** From the first byte of a connection to the answer to its hello. */
    handshakeSeconds: 10,
    /** For each frame. */
    writeSeconds: 10,
    idleReadSeconds: 45,
    pingSeconds: 10,
    /** Requests in progress, each way. */
    requests: 4,
    redialSeconds: 5,
    /** A join that is still undecided after its deadline. */
    overdueRedialSeconds: 60,
    /** A status older than this means nothing. */
    statusFreshSeconds: 10,
    statusSeconds: 5,
    /** Ids of removed connections that are remembered. */
    retired: 4096,
    nameBytes: 512,
    titleBytes: 1024,
    addressBytes: 262,
  },
  /**
   * What goes between instances (docs/protocol.md#validity; docs/protocol.md#peer-operations,
   * docs/protocol.md#account, docs/protocol.md#daemon-files). Message text, recipients and insight:
   * `message`.
   */
  connect: {
    idBytes: 128,
    titleBytes: 4096,
    nameBytes: 512,
    originBytes: 512,
    cursorBytes: 512,
    clientVersionBytes: 64,
    generationBytes: 128,
    proofSeconds: 60,
    identitySeconds: 30,
    frameSeconds: 120,
    /** A live frame gets a fresh proof, and access is checked again, this often. */
    frameRenewSeconds: 45,
    frameCheckSeconds: 15,
    /** How long the page in a frame may take to say that it works. */
    frameHandshakeSeconds: 20,
    /** Pause between two questions to the account about instances whose pages open frames. */
    frameAskSeconds: 10,
    /** Live frames of one Web process, and the nonces of each that are remembered. */
    frames: 128,
    frameNonces: 8,
    ticketSeconds: 24 * 3600,
    groupCheckSeconds: 30,
    /** A group check's request and answer, the ticket in it, and the Group's title in that. */
    groupProofBytes: 4 * KiB,
    groupTicketBytes: 4 * KiB - 64,
    groupTitleBytes: 1 * KiB,
    /** How far ahead of our clock a time of issue or creation may be. */
    skewSeconds: 30,
    registrationSkewSeconds: 120,
    deliverSeconds: 15 * 60,
    replySeconds: 7 * 24 * 3600,
    requestSeconds: 5,
    /** The header with a request's proof. */
    proofBytes: 4 * KiB,
    /** Answer to an identity challenge, and the time for it. */
    identityAnswerBytes: 4 * KiB,
    identityAnswerSeconds: 5,
    /** A request over HTTPS. */
    bodyBytes: 14 * MiB,
    /** All attachments of a message together, and their size as base64. */
    blobBytes: 10 * MiB,
    answerBytes: 8 * KiB,
    /** A catalog page alone, and in its envelope. */
    catalogPageBytes: 1 * MiB,
    catalogAnswerBytes: 1 * MiB + 4 * KiB,
    errorCharacters: 1024,
    errorCodeCharacters: 64,
    /** How much is shown of a peer's own words, and of its name next to them. */
    saidCharacters: 300,
    saidNameCharacters: 60,
    /** Bodies of one peer that are read at a time, and how long a request id is remembered. */
    bodiesPerPeer: 2,
    seenSeconds: 90,
    seenIds: 8192,
    /** After this long, an unanswered POST can no longer be admitted. */
    postEscapesSeconds: 90,
    originalPendingSeconds: 5,
    /**
     * What a connection may write here at once, and how fast that refills. It is generous: it stops
     * only malicious or broken peers.
     */
    quota: { records: 10_000, recordsPerSecond: 10, bytes: 4096 * MiB, bytesPerDay: 4096 * MiB },
    /** Peer keys that are kept ready for verification. */
    admittedKeys: 256,
    catalog: {
      groups: 64,
      scanSeconds: 2,
      peers: 8,
      refreshSeconds: 60,
      refreshBudgetSeconds: 30,
      pages: 16,
      metadataBytes: 4 * MiB,
      freshSeconds: 120,
      defaultPage: 20,
    },
    backoffSeconds: [5, 10, 20, 40, 60],
  },
  /** The account service (docs/account-service.md). */
  account: {
    registrationBytes: 4 * KiB,
    /** Other bodies, forms included: a passkey's answer is the largest. */
    requestBytes: 16 * KiB,
    directorySeconds: 120,
    /** Requests of one device in a minute, to each of the two endpoints (LIM-001). */
    devicePerMinute: 30,
    /** UTF-16 code units of a display name. */
    nameUnits: 60,
    /** Connections between Groups of two members (docs/connections.md). */
    groups: {
      /** Answers of an instance about a ticket, and the time for one. */
      checkSeconds: 5,
      mutationsPerMinute: 20,
      /** Pending invitations and active connections that one member began. */
      outstanding: 128,
      /** A member's active connections. */
      active: 128,
      /** Of connections and invitations that are over. */
      keptDays: 30,
      /** Closed ones that the page shows. */
      closedShown: 50,
      invalidated: 128,
      invalidationBytes: 8 * KiB,
      /** UTF-16 code units of a name or title, as it was when it was selected. */
      labelUnits: 256,
    },
    /** What a device says about itself when it asks to be let in. */
    claimedBytes: 128,
    grantSeconds: 900,
    pollSeconds: 5,
    /** A poll that comes this much too early isn't told to slow down. */
    pollToleranceMilliseconds: 500,
    /** New device grants from one address in a minute, and all that are open. */
    grantsPerMinute: 30,
    openGrants: 10_000,
    /** Polls for all grants that one address waits for. */
    pollsPerMinute: 600,
    /** Wrong credentials from one address in a minute. */
    failuresPerMinute: 60,
    /**
     * User codes that may be sent in `seconds`, right or wrong: by one member, from one address
     * (an office has one), and how often one code may be opened.
     */
    userCodes: { perMember: 60, perAddress: 600, perCode: 10, seconds: 900 },
    /** Sign-ins and sign-ups from one address in a minute. */
    signInsPerMinute: 30,
    recoveryTriesPerHour: 20,
    /** A member's active devices. All of them fit one directory. */
    devices: 128,
    passkeys: 16,
    recoveryCodes: 10,
    /** How long a sign-in counts as fresh: for changes of passkeys, and approvals without one. */
    freshSeconds: 300,
    challengeSeconds: 300,
    /** How long a request to the identity provider may take. */
    issuerSeconds: 10,
    invitationHours: 72,
    sessionDays: 30,
    /** Entries of the audit list: how many are shown, and how long they stay. */
    auditShown: 100,
    auditDays: 365,
    sweepSeconds: 300,
    /** Keys of instances that one process keeps ready for verification. */
    admittedKeys: 10_000,
    /** Statements that stay prepared on the embedded database. */
    preparedStatements: 256,
    busyMilliseconds: 5000,
    transactionRounds: 8,
    pool: { connections: 10, waitMilliseconds: 5000, statementMilliseconds: 10_000 },
    stopSeconds: 10,
  },
  /** The daemon's link to the account service (docs/protocol.md#account). */
  link: {
    answerBytes: 1 * MiB,
    /** Answers that only have a few fields. */
    smallAnswerBytes: 16 * KiB,
    requestSeconds: 15,
    requestSecondsMax: 120,
    instances: 2048,
    /** Instances that joined the account and that no person has looked at yet. */
    joined: 64,
    /** Devices of this instance that are still to be retired. */
    retiring: 16,
    /** Connections to Groups of other accounts. */
    groupLinks: 256,
    /** How often the local binding is compared with what was registered. */
    checkSeconds: 2,
    refreshSeconds: 60,
    /** After a Group was selected, the account service is asked this often for this long. */
    selectedRefreshSeconds: 10,
    selectedSeconds: 600,
    /** A refresh comes up to this much earlier, so that many devices don't come at once. */
    jitterSeconds: 6,
    /** A directory is valid this long at most. */
    validSeconds: 120,
    /** The longest `Retry-After` that is followed. */
    retryAfterSeconds: 600,
    userCodeCharacters: 32,
    addressCharacters: 2048,
    tokenCharacters: 512,
    /** The longest time for entering a code, and the longest pause between two questions. */
    loginSeconds: 3600,
    pollSeconds: 60,
    displayNameCharacters: 60,
    errorMessageCharacters: 300,
  },
  outbox: {
    records: 1024,
    recordsPerPeer: 128,
    blobBytes: 256 * MiB,
    blobBytesPerPeer: 64 * MiB,
    recordBytes: 512 * KiB,
    jobs: 4,
    scanSeconds: 1,
    permitSeconds: 5,
    retrySecondsMin: 5,
    retrySecondsMax: 60,
  },
  /** The TLS of Direct (RFC 8446). */
  tls: {
    /**
     * Body of a handshake message. The largest sensible ones are hellos with post-quantum shares,
     * about 2 KiB.
     */
    handshakeMessageBytes: 16 * KiB,
    /** Appendix D.4 has one, or two if the server asks for a second hello. */
    changeCipherSpecs: 4,
    /**
     * Section 5.5: AES-GCM keys are good for 2^24.5 records. We change ours before 2^24, and accept
     * no more than that from the peer.
     */
    recordsPerKey: 16_000_000,
    recordsPerReadKey: 23_726_566,
    /**
     * Key updates, tickets, empty records and warnings beyond one for this many bytes of
     * application data.
     */
    idleMessages: 32,
    bytesPerIdleMessage: 256,
    /** Records of one connection that are decrypted before it yields to the event loop. */
    recordsPerTurn: 64,
    /** Encrypted ahead of what the peer has accepted. */
    sendAheadBytes: 256 * KiB,
    /** How long a failed socket stays, so that the peer reads the alert. */
    lingerSeconds: 2,
  },
  socketPathBytes: { linux: 107, darwin: 103 },
} as const;
