; made of ad9fe91ffc9da27a9c7336e133810726a8680435b61a2960f3406acbfe5d3d68
; by LLVM 22
; takes <f8:2 <i8:1 <i8:1 <i8:2 <i8:1 <i8:1 (<f8:2 <i8:1 <f8:1 <i8:2 <i8:1) (i i f f) (f f)
; gives f f f
define noundef range(i32 -1, -2) i32 @pramana.anneal(ptr noalias writeonly captures(none) %retptr, ptr noalias readnone captures(none) %excinfo, ptr readnone captures(none) %arg.points.0, ptr readnone captures(none) %arg.points.1, i64 %arg.points.2, i64 %arg.points.3, ptr readonly captures(none) %arg.points.4, i64 %arg.points.5.0, i64 %arg.points.5.1, i64 %arg.points.6.0, i64 %arg.points.6.1, ptr readnone captures(none) %arg.labels.0, ptr readnone captures(none) %arg.labels.1, i64 %arg.labels.2, i64 %arg.labels.3, ptr captures(none) %arg.labels.4, i64 %arg.labels.5.0, i64 %arg.labels.6.0, ptr readnone captures(none) %arg.best.0, ptr readnone captures(none) %arg.best.1, i64 %arg.best.2, i64 %arg.best.3, ptr writeonly captures(none) %arg.best.4, i64 %arg.best.5.0, i64 %arg.best.6.0, ptr readnone captures(none) %arg.near.0, ptr readnone captures(none) %arg.near.1, i64 %arg.near.2, i64 %arg.near.3, ptr readonly captures(none) %arg.near.4, i64 %arg.near.5.0, i64 %arg.near.5.1, i64 %arg.near.6.0, i64 %arg.near.6.1, ptr readnone captures(none) %arg.picks.0, ptr readnone captures(none) %arg.picks.1, i64 %arg.picks.2, i64 %arg.picks.3, ptr readonly captures(none) %arg.picks.4, i64 %arg.picks.5.0, i64 %arg.picks.6.0, ptr readnone captures(none) %arg.words.0, ptr readnone captures(none) %arg.words.1, i64 %arg.words.2, i64 %arg.words.3, ptr readonly captures(none) %arg.words.4, i64 %arg.words.5.0, i64 %arg.words.6.0, ptr readnone captures(none) %arg.state.0.0, ptr readnone captures(none) %arg.state.0.1, i64 %arg.state.0.2, i64 %arg.state.0.3, ptr captures(none) %arg.state.0.4, i64 %arg.state.0.5.0, i64 %arg.state.0.5.1, i64 %arg.state.0.6.0, i64 %arg.state.0.6.1, ptr readnone captures(none) %arg.state.1.0, ptr readnone captures(none) %arg.state.1.1, i64 %arg.state.1.2, i64 %arg.state.1.3, ptr captures(none) %arg.state.1.4, i64 %arg.state.1.5.0, i64 %arg.state.1.6.0, ptr readnone captures(none) %arg.state.2.0, ptr readnone captures(none) %arg.state.2.1, i64 %arg.state.2.2, i64 %arg.state.2.3, ptr captures(none) %arg.state.2.4, i64 %arg.state.2.5.0, i64 %arg.state.2.6.0, ptr readnone captures(none) %arg.state.3.0, ptr readnone captures(none) %arg.state.3.1, i64 %arg.state.3.2, i64 %arg.state.3.3, ptr captures(none) %arg.state.3.4, i64 %arg.state.3.5.0, i64 %arg.state.3.5.1, i64 %arg.state.3.6.0, i64 %arg.state.3.6.1, ptr readnone captures(none) %arg.state.4.0, ptr readnone captures(none) %arg.state.4.1, i64 %arg.state.4.2, i64 %arg.state.4.3, ptr captures(none) %arg.state.4.4, i64 %arg.state.4.5.0, i64 %arg.state.4.6.0, i64 %arg.rules.0, i64 %arg.rules.1, double %arg.rules.2, double %arg.rules.3, double %arg.levels.0, double %arg.levels.1) local_unnamed_addr #0 {
B0.endif:
  %.2721734.not = icmp slt i64 %arg.words.2, 1
  br i1 %.2721734.not, label %common.ret, label %B88.lr.ph
B88.lr.ph:
  %const = bitcast i64 9223372036854775806 to i64
  %arg.best.4111 = ptrtoint ptr %arg.best.4 to i64
  %arg.labels.4112 = ptrtoint ptr %arg.labels.4 to i64
  %unroll_iter.i = and i64 %arg.points.5.1, %const
  %invariant.gep = getelementptr double, ptr %arg.state.0.4, i64 %unroll_iter.i
  %invariant.gep108 = getelementptr double, ptr %arg.state.0.4, i64 %unroll_iter.i
  %0 = sub i64 %arg.best.4111, %arg.labels.4112
  %1 = shl i64 %arg.points.5.1, 3
  %scevgep = getelementptr i8, ptr %arg.state.0.4, i64 %1
  %2 = shl i64 %arg.state.0.5.1, 3
  %scevgep116 = getelementptr i8, ptr %arg.state.0.4, i64 %1
  %3 = shl i64 %arg.state.0.5.1, 3
  %scevgep142 = getelementptr i8, ptr %arg.state.0.4, i64 %1
  %4 = shl i64 %arg.state.0.5.1, 3
  %scevgep144 = getelementptr i8, ptr %arg.state.0.4, i64 %1
  %5 = shl i64 %arg.state.0.5.1, 3
  %n.vec171 = and i64 %arg.points.5.1, %const
  %n.vec130 = and i64 %arg.points.5.1, %const
  %min.iters.check = icmp ult i64 %arg.labels.2, 4
  %diff.check = icmp ult i64 %0, 32
  %or.cond182 = select i1 %min.iters.check, i1 true, i1 %diff.check
  %const_mat = add i64 %const, -2
  %n.vec = and i64 %arg.labels.2, %const_mat
  %xtraiter187 = and i64 %arg.labels.2, 3
  %scevgep200 = getelementptr i8, ptr %arg.state.0.4, i64 8
  %6 = shl i64 %arg.state.0.5.1, 3
  %scevgep205 = getelementptr i8, ptr %arg.state.0.4, i64 8
  %7 = shl i64 %arg.state.0.5.1, 3
  %scevgep210 = getelementptr i8, ptr %arg.points.4, i64 8
  %8 = shl i64 %arg.points.5.1, 3
  %scevgep215 = getelementptr i8, ptr %arg.points.4, i64 8
  %9 = shl i64 %arg.points.5.1, 3
  %scevgep223 = getelementptr i8, ptr %arg.state.0.4, i64 8
  %10 = shl i64 %arg.state.0.5.1, 3
  %scevgep228 = getelementptr i8, ptr %arg.state.0.4, i64 8
  %11 = shl i64 %arg.state.0.5.1, 3
  %scevgep233 = getelementptr i8, ptr %arg.points.4, i64 8
  %12 = shl i64 %arg.points.5.1, 3
  br label %B88
B88:
  %lowest.2.01745 = phi double [ %arg.levels.1, %B88.lr.ph ], [ %lowest.3.1, %B1751 ]
  %now.3.01744 = phi double [ %arg.levels.0, %B88.lr.ph ], [ %now.4.1, %B1751 ]
  %heat.2.01743 = phi double [ %arg.rules.2, %B88.lr.ph ], [ %.345, %B1751 ]
  %.27816701741 = phi i64 [ 0, %B88.lr.ph ], [ %.285, %B1751 ]
  %.285 = add nuw nsw i64 %.27816701741, 1
  %13 = getelementptr i64, ptr %arg.words.4, i64 %.27816701741
  %.339 = load i64, ptr %13, align 8
  %.345 = fmul double %arg.rules.3, %heat.2.01743
  %.353 = and i64 %.339, 65535
  %.382 = getelementptr i64, ptr %arg.picks.4, i64 %.353
  %.383 = load i64, ptr %.382, align 8
  %.388 = lshr i64 %.339, 16
  %.389 = and i64 %.388, 255
  %.403 = mul nsw i64 %.389, %arg.near.5.1
  %.404 = ashr i64 %.403, 8
  %.428 = icmp slt i64 %.383, 0
  %.429 = select i1 %.428, i64 %arg.near.5.0, i64 0
  %.430 = add i64 %.429, %.383
  %.431 = icmp slt i64 %.404, 0
  %.432 = select i1 %.431, i64 %arg.near.5.1, i64 0
  %.450 = mul i64 %.430, %arg.near.5.1
  %14 = getelementptr i64, ptr %arg.near.4, i64 %.450
  %15 = getelementptr i64, ptr %14, i64 %.404
  %.454 = getelementptr i64, ptr %15, i64 %.432
  %.455 = load i64, ptr %.454, align 8
  %.469 = icmp slt i64 %.455, 0
  %.470 = select i1 %.469, i64 %arg.labels.5.0, i64 0
  %16 = getelementptr i64, ptr %arg.labels.4, i64 %.455
  %.484 = getelementptr i64, ptr %16, i64 %.470
  %.485 = load i64, ptr %.484, align 8
  %.504 = select i1 %.428, i64 %arg.labels.5.0, i64 0
  %17 = getelementptr i64, ptr %arg.labels.4, i64 %.383
  %.518 = getelementptr i64, ptr %17, i64 %.504
  %.519 = load i64, ptr %.518, align 8
  %.525 = icmp eq i64 %.519, %.485
  br i1 %.525, label %B1751, label %B262.endif.endif
B454:
  %18 = icmp slt i64 %arg.points.5.1, 1
  br i1 %18, label %B454.endif, label %B62.lr.ph.i
B62.lr.ph.i:
  %19 = icmp slt i64 %.485, 0
  %20 = icmp slt i64 %.383, 0
  %21 = icmp eq i64 %arg.points.5.1, 1
  %.202.i = select i1 %20, i64 %arg.points.5.0, i64 0
  %.203.i = add i64 %.202.i, %.383
  %.223.i = mul i64 %.203.i, %arg.points.5.1
  %22 = getelementptr double, ptr %arg.points.4, i64 %.223.i
  %.253.i = select i1 %19, i64 %arg.state.0.5.0, i64 0
  %.254.i = add i64 %.253.i, %.485
  %.274.i = mul i64 %.254.i, %arg.state.0.5.1
  %.281.i = sitofp i64 %.713 to double
  br i1 %21, label %B62.epil.preheader.i, label %B62.lr.ph.new.i
B62.lr.ph.new.i:
  %23 = shl i64 %.223.i, 3
  %24 = getelementptr i8, ptr %arg.points.4, i64 %23
  %scevgep.i = getelementptr i8, ptr %24, i64 8
  %25 = shl i64 %.274.i, 3
  %26 = getelementptr i8, ptr %arg.state.0.4, i64 %25
  %scevgep6.i = getelementptr i8, ptr %26, i64 8
  br label %B62.i
B62.i:
  %total.2.0117.i = phi double [ 0.000000e+00, %B62.lr.ph.new.i ], [ %.289.1.i, %B62.i ]
  %.146113115.i = phi i64 [ 0, %B62.lr.ph.new.i ], [ %.153.1.i, %B62.i ]
  %27 = shl i64 %.146113115.i, 3
  %scevgep4.i = getelementptr i8, ptr %scevgep.i, i64 %27
  %scevgep5.i = getelementptr i8, ptr %scevgep4.i, i64 -8
  %.228.i = load double, ptr %scevgep5.i, align 8, !noalias !0
  %scevgep8.i = getelementptr i8, ptr %scevgep6.i, i64 %27
  %scevgep9.i = getelementptr i8, ptr %scevgep8.i, i64 -8
  %.279.i = load double, ptr %scevgep9.i, align 8, !noalias !0
  %.285.i = fdiv double %.279.i, %.281.i
  %.286.i = fsub double %.228.i, %.285.i
  %.287.i = fmul double %.286.i, %.286.i
  %.289.i = fadd double %total.2.0117.i, %.287.i
  %.153.1.i = add nuw i64 %.146113115.i, 2
  %.228.1.i = load double, ptr %scevgep4.i, align 8, !noalias !0
  %.279.1.i = load double, ptr %scevgep8.i, align 8, !noalias !0
  %.285.1.i = fdiv double %.279.1.i, %.281.i
  %.286.1.i = fsub double %.228.1.i, %.285.1.i
  %.287.1.i = fmul double %.286.1.i, %.286.1.i
  %.289.1.i = fadd double %.289.i, %.287.1.i
  %niter.ncmp.1.i = icmp eq i64 %n.vec171, %.153.1.i
  br i1 %niter.ncmp.1.i, label %B130.loopexit.unr-lcssa.i, label %B62.i
B130.loopexit.unr-lcssa.i:
  %28 = and i64 %arg.points.5.1, 1
  %29 = icmp eq i64 %28, 0
  br i1 %29, label %B62.lr.ph.i23, label %B62.epil.preheader.i
B62.epil.preheader.i:
  %total.2.0117.epil.init.i = phi double [ 0.000000e+00, %B62.lr.ph.i ], [ %.289.1.i, %B130.loopexit.unr-lcssa.i ]
  %30 = getelementptr double, ptr %22, i64 %unroll_iter.i
  %.228.epil.i = load double, ptr %30, align 8, !noalias !0
  %gep = getelementptr double, ptr %invariant.gep, i64 %.274.i
  %.279.epil.i = load double, ptr %gep, align 8, !noalias !0
  %.285.epil.i = fdiv double %.279.epil.i, %.281.i
  %.286.epil.i = fsub double %.228.epil.i, %.285.epil.i
  %.287.epil.i = fmul double %.286.epil.i, %.286.epil.i
  %.289.epil.i = fadd double %total.2.0117.epil.init.i, %.287.epil.i
  br label %B62.lr.ph.i23
B1028:
  %.191216491651 = phi i64 [ %.1919.1, %B1028 ], [ %.191216491651.unr, %B1028.preheader191 ]
  %31 = shl i64 %.191216491651, 3
  %scevgep225 = getelementptr i8, ptr %scevgep224, i64 %31
  %scevgep226 = getelementptr i8, ptr %scevgep225, i64 -8
  %.1994 = load double, ptr %scevgep226, align 8
  %scevgep235 = getelementptr i8, ptr %scevgep234, i64 %31
  %scevgep236 = getelementptr i8, ptr %scevgep235, i64 -8
  %.2045 = load double, ptr %scevgep236, align 8
  %.2046 = fsub double %.1994, %.2045
  store double %.2046, ptr %scevgep226, align 8
  %32 = shl i64 %.191216491651, 3
  %scevgep230 = getelementptr i8, ptr %scevgep229, i64 %32
  %scevgep231 = getelementptr i8, ptr %scevgep230, i64 -8
  %.2145 = load double, ptr %scevgep231, align 8
  %.2196 = load double, ptr %scevgep236, align 8
  %.2197 = fadd double %.2145, %.2196
  store double %.2197, ptr %scevgep231, align 8
  %.1919.1 = add nuw nsw i64 %.191216491651, 2
  %33 = shl i64 %.191216491651, 3
  %scevgep227 = getelementptr i8, ptr %scevgep224, i64 %33
  %.1994.1 = load double, ptr %scevgep227, align 8
  %scevgep237 = getelementptr i8, ptr %scevgep234, i64 %33
  %.2045.1 = load double, ptr %scevgep237, align 8
  %.2046.1 = fsub double %.1994.1, %.2045.1
  store double %.2046.1, ptr %scevgep227, align 8
  %34 = shl i64 %.191216491651, 3
  %scevgep232 = getelementptr i8, ptr %scevgep229, i64 %34
  %.2145.1 = load double, ptr %scevgep232, align 8
  %.2196.1 = load double, ptr %scevgep237, align 8
  %.2197.1 = fadd double %.2145.1, %.2196.1
  store double %.2197.1, ptr %scevgep232, align 8
  %exitcond1809.not.1 = icmp eq i64 %arg.points.5.1, %.1919.1
  br i1 %exitcond1809.not.1, label %B1662, label %B1028, !llvm.loop !3
B1140:
  %35 = icmp slt i64 %.485, 0
  %36 = icmp slt i64 %arg.points.5.1, 1
  %.2265 = lshr i64 %.339, 24
  %.2268 = and i64 %.2265, 4095
  %.2300 = mul nsw i64 %.713, %.2268
  %.2301 = ashr i64 %.2300, 12
  %.2326 = select i1 %35, i64 %arg.state.3.5.0, i64 0
  %.2327 = add i64 %.2326, %.485
  %.2328 = icmp slt i64 %.2301, 0
  %.2329 = select i1 %.2328, i64 %arg.state.3.5.1, i64 0
  %.2347 = mul i64 %.2327, %arg.state.3.5.1
  %37 = getelementptr i64, ptr %arg.state.3.4, i64 %.2347
  %38 = getelementptr i64, ptr %37, i64 %.2301
  %.2351 = getelementptr i64, ptr %38, i64 %.2329
  %.2352 = load i64, ptr %.2351, align 8
  br i1 %36, label %B1140.B1140.endif_crit_edge, label %B70.lr.ph.i
B1140.B1140.endif_crit_edge:
  %.pre105 = sitofp i64 %.682 to double
  %.pre106 = sitofp i64 %.713 to double
  br label %B1140.endif
B70.lr.ph.i:
  %39 = icmp slt i64 %.485, 0
  %40 = icmp slt i64 %.519, 0
  %41 = icmp slt i64 %.383, 0
  %.228.i17 = select i1 %40, i64 %arg.state.0.5.0, i64 0
  %.229.i = add i64 %.228.i17, %.519
  %.249.i = mul i64 %.229.i, %arg.state.0.5.1
  %42 = getelementptr double, ptr %arg.state.0.4, i64 %.249.i
  %.286.i19 = sitofp i64 %.682 to double
  %.315.i = select i1 %41, i64 %arg.points.5.0, i64 0
  %.316.i = add i64 %.315.i, %.383
  %.336.i = mul i64 %.316.i, %arg.points.5.1
  %43 = getelementptr double, ptr %arg.points.4, i64 %.336.i
  %.365.i = icmp slt i64 %.2352, 0
  %.366.i = select i1 %.365.i, i64 %arg.points.5.0, i64 0
  %.367.i = add i64 %.366.i, %.2352
  %.387.i = mul i64 %.367.i, %arg.points.5.1
  %44 = getelementptr double, ptr %arg.points.4, i64 %.387.i
  %.529.i = select i1 %39, i64 %arg.state.0.5.0, i64 0
  %.530.i = add i64 %.529.i, %.485
  %.550.i = mul i64 %.530.i, %arg.state.0.5.1
  %45 = getelementptr double, ptr %arg.state.0.4, i64 %.550.i
  %.587.i = sitofp i64 %.713 to double
  br label %B70.i
B70.i:
  %gap.2.0303.i = phi double [ 0.000000e+00, %B70.lr.ph.i ], [ %.705.i, %B70.i ]
  %two.2.0302.i = phi double [ 0.000000e+00, %B70.lr.ph.i ], [ %.700.i, %B70.i ]
  %one.2.0301.i = phi double [ 0.000000e+00, %B70.lr.ph.i ], [ %.502.i, %B70.i ]
  %.172297299.i = phi i64 [ 0, %B70.lr.ph.i ], [ %.179.i, %B70.i ]
  %.179.i = add nuw nsw i64 %.172297299.i, 1
  %46 = shl i64 %.172297299.i, 3
  %scevgep2.i = getelementptr i8, ptr %42, i64 %46
  %.254.i20 = load double, ptr %scevgep2.i, align 8, !noalias !5
  %.290.i = fdiv double %.254.i20, %.286.i19
  %scevgep.i21 = getelementptr i8, ptr %43, i64 %46
  %.341.i = load double, ptr %scevgep.i21, align 8, !noalias !5
  %47 = shl i64 %.172297299.i, 3
  %scevgep195 = getelementptr i8, ptr %44, i64 %47
  %.392.i = load double, ptr %scevgep195, align 8, !noalias !5
  %.393.i = fsub double %.341.i, %.392.i
  %.445.i = fsub double %.341.i, %.290.i
  %.497.i = fsub double %.392.i, %.290.i
  %.498.i = fmul double %.497.i, %.497.i
  %.499.i = fmul double %.445.i, %.445.i
  %.500.i = fsub double %.498.i, %.499.i
  %.502.i = fadd double %one.2.0301.i, %.500.i
  %48 = shl i64 %.172297299.i, 3
  %scevgep194 = getelementptr i8, ptr %45, i64 %48
  %.555.i = load double, ptr %scevgep194, align 8, !noalias !5
  %.591.i = fdiv double %.555.i, %.587.i
  %.643.i = fsub double %.392.i, %.591.i
  %.695.i = fsub double %.341.i, %.591.i
  %.696.i = fmul double %.695.i, %.695.i
  %.697.i = fmul double %.643.i, %.643.i
  %.698.i = fsub double %.696.i, %.697.i
  %.700.i = fadd double %two.2.0302.i, %.698.i
  %.703.i = fmul double %.393.i, %.393.i
  %.705.i = fadd double %gap.2.0303.i, %.703.i
  %exitcond.not.i = icmp eq i64 %arg.points.5.1, %.179.i
  br i1 %exitcond.not.i, label %B1140.endif, label %B70.i
B1544:
  %lsr.iv = phi i64 [ 0, %B1544.preheader192 ], [ %lsr.iv.next, %B1544 ]
  %49 = shl i64 %lsr.iv, 3
  %scevgep212 = getelementptr i8, ptr %scevgep211, i64 %49
  %scevgep213 = getelementptr i8, ptr %scevgep212, i64 -8
  %.3154 = load double, ptr %scevgep213, align 8
  %scevgep217 = getelementptr i8, ptr %scevgep216, i64 %49
  %scevgep218 = getelementptr i8, ptr %scevgep217, i64 -8
  %.3205 = load double, ptr %scevgep218, align 8
  %.3206 = fsub double %.3154, %.3205
  %50 = shl i64 %lsr.iv, 3
  %scevgep202 = getelementptr i8, ptr %scevgep201, i64 %50
  %scevgep203 = getelementptr i8, ptr %scevgep202, i64 -8
  %.3257 = load double, ptr %scevgep203, align 8
  %.3258 = fsub double %.3257, %.3206
  store double %.3258, ptr %scevgep203, align 8
  %51 = shl i64 %lsr.iv, 3
  %scevgep207 = getelementptr i8, ptr %scevgep206, i64 %51
  %scevgep208 = getelementptr i8, ptr %scevgep207, i64 -8
  %.3357 = load double, ptr %scevgep208, align 8
  %.3358 = fadd double %.3206, %.3357
  store double %.3358, ptr %scevgep208, align 8
  %52 = shl i64 %lsr.iv, 3
  %scevgep214 = getelementptr i8, ptr %scevgep211, i64 %52
  %.3154.1 = load double, ptr %scevgep214, align 8
  %scevgep219 = getelementptr i8, ptr %scevgep216, i64 %52
  %.3205.1 = load double, ptr %scevgep219, align 8
  %.3206.1 = fsub double %.3154.1, %.3205.1
  %53 = shl i64 %lsr.iv, 3
  %scevgep204 = getelementptr i8, ptr %scevgep201, i64 %53
  %.3257.1 = load double, ptr %scevgep204, align 8
  %.3258.1 = fsub double %.3257.1, %.3206.1
  store double %.3258.1, ptr %scevgep204, align 8
  %scevgep209 = getelementptr i8, ptr %scevgep206, i64 %53
  %.3357.1 = load double, ptr %scevgep209, align 8
  %.3358.1 = fadd double %.3206.1, %.3357.1
  store double %.3358.1, ptr %scevgep209, align 8
  %lsr.iv.next = add i64 %lsr.iv, 2
  %exitcond.not.1 = icmp eq i64 %152, %lsr.iv.next
  br i1 %exitcond.not.1, label %B1662, label %B1544, !llvm.loop !8
B1662:
  %.2409.pn = phi double [ %.2409, %B1288.endif ], [ %.1081, %B682.endif ], [ %.1081, %middle.block138 ], [ %.2409, %middle.block179 ], [ %.1081, %B1028.prol.loopexit ], [ %.2409, %B1544.prol.loopexit ], [ %.1081, %B1028 ], [ %.2409, %B1544 ]
  %54 = icmp slt i64 %arg.labels.2, 1
  %now.5.2 = fadd double %now.3.01744, %.2409.pn
  %.3428 = fcmp uge double %now.5.2, %lowest.2.01745
  %brmerge = select i1 %.3428, i1 true, i1 %54
  %lowest.2.01745.mux = select i1 %.3428, double %lowest.2.01745, double %now.5.2
  br i1 %brmerge, label %B1751, label %B1720.preheader
B1720.preheader:
  br i1 %or.cond182, label %B1720.preheader183, label %vector.body.preheader
vector.body.preheader:
  br label %vector.body
vector.body:
  %index = phi i64 [ %index.next, %vector.body ], [ 0, %vector.body.preheader ]
  %sunkaddr = mul i64 %index, 8
  %sunkaddr266 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr
  %wide.load = load <2 x i64>, ptr %sunkaddr266, align 8
  %sunkaddr267 = mul i64 %index, 8
  %sunkaddr268 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr267
  %sunkaddr269 = getelementptr i8, ptr %sunkaddr268, i64 16
  %wide.load113 = load <2 x i64>, ptr %sunkaddr269, align 8
  %sunkaddr270 = mul i64 %index, 8
  %sunkaddr271 = getelementptr i8, ptr %arg.best.4, i64 %sunkaddr270
  store <2 x i64> %wide.load, ptr %sunkaddr271, align 8
  %sunkaddr272 = mul i64 %index, 8
  %sunkaddr273 = getelementptr i8, ptr %arg.best.4, i64 %sunkaddr272
  %sunkaddr274 = getelementptr i8, ptr %sunkaddr273, i64 16
  store <2 x i64> %wide.load113, ptr %sunkaddr274, align 8
  %index.next = add nuw i64 %index, 4
  %55 = icmp eq i64 %n.vec, %index.next
  br i1 %55, label %middle.block, label %vector.body, !llvm.loop !9
middle.block:
  %56 = icmp eq i64 %arg.labels.2, %n.vec
  br i1 %56, label %B1751, label %B1720.preheader183
B1720.preheader183:
  %.353316561658.ph = phi i64 [ 0, %B1720.preheader ], [ %n.vec, %middle.block ]
  %57 = icmp eq i64 %xtraiter187, 0
  br i1 %57, label %B1720.prol.loopexit, label %B1720.prol.preheader
B1720.prol.preheader:
  br label %B1720.prol
B1720.prol:
  %lsr.iv248 = phi i64 [ %xtraiter187, %B1720.prol.preheader ], [ %lsr.iv.next249, %B1720.prol ]
  %.353316561658.prol = phi i64 [ %.3540.prol, %B1720.prol ], [ %.353316561658.ph, %B1720.prol.preheader ]
  %.3540.prol = add nuw nsw i64 %.353316561658.prol, 1
  %58 = shl i64 %.353316561658.prol, 3
  %scevgep247 = getelementptr i8, ptr %arg.labels.4, i64 %58
  %.3596.prol = load i64, ptr %scevgep247, align 8
  %59 = shl i64 %.353316561658.prol, 3
  %scevgep246 = getelementptr i8, ptr %arg.best.4, i64 %59
  store i64 %.3596.prol, ptr %scevgep246, align 8
  %lsr.iv.next249 = add nsw i64 %lsr.iv248, -1
  %prol.iter.cmp.not = icmp eq i64 %lsr.iv.next249, 0
  br i1 %prol.iter.cmp.not, label %B1720.prol.loopexit, label %B1720.prol, !llvm.loop !11
B1720.prol.loopexit:
  %.353316561658.unr = phi i64 [ %.353316561658.ph, %B1720.preheader183 ], [ %.3540.prol, %B1720.prol ]
  %60 = sub nsw i64 %.353316561658.ph, %arg.labels.2
  %61 = icmp ugt i64 %60, -4
  br i1 %61, label %B1751, label %B1720.preheader190
B1720.preheader190:
  br label %B1720
B1720:
  %.353316561658 = phi i64 [ %.3540.3, %B1720 ], [ %.353316561658.unr, %B1720.preheader190 ]
  %sunkaddr275 = mul i64 %.353316561658, 8
  %sunkaddr276 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr275
  %.3596 = load i64, ptr %sunkaddr276, align 8
  %sunkaddr277 = mul i64 %.353316561658, 8
  %sunkaddr278 = getelementptr i8, ptr %arg.best.4, i64 %sunkaddr277
  store i64 %.3596, ptr %sunkaddr278, align 8
  %sunkaddr279 = mul i64 %.353316561658, 8
  %sunkaddr280 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr279
  %sunkaddr281 = getelementptr i8, ptr %sunkaddr280, i64 8
  %.3596.1 = load i64, ptr %sunkaddr281, align 8
  %sunkaddr282 = mul i64 %.353316561658, 8
  %sunkaddr283 = getelementptr i8, ptr %arg.best.4, i64 %sunkaddr282
  %sunkaddr284 = getelementptr i8, ptr %sunkaddr283, i64 8
  store i64 %.3596.1, ptr %sunkaddr284, align 8
  %sunkaddr285 = mul i64 %.353316561658, 8
  %sunkaddr286 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr285
  %sunkaddr287 = getelementptr i8, ptr %sunkaddr286, i64 16
  %.3596.2 = load i64, ptr %sunkaddr287, align 8
  %sunkaddr288 = mul i64 %.353316561658, 8
  %sunkaddr289 = getelementptr i8, ptr %arg.best.4, i64 %sunkaddr288
  %sunkaddr290 = getelementptr i8, ptr %sunkaddr289, i64 16
  store i64 %.3596.2, ptr %sunkaddr290, align 8
  %.3540.3 = add nuw nsw i64 %.353316561658, 4
  %sunkaddr291 = mul i64 %.353316561658, 8
  %sunkaddr292 = getelementptr i8, ptr %arg.labels.4, i64 %sunkaddr291
  %sunkaddr293 = getelementptr i8, ptr %sunkaddr292, i64 24
  %.3596.3 = load i64, ptr %sunkaddr293, align 8
  %sunkaddr294 = mul i64 %.353316561658, 8
  %sunkaddr295 = getelementptr i8, ptr %arg.best.4, i64 %sunkaddr294
  %sunkaddr296 = getelementptr i8, ptr %sunkaddr295, i64 24
  store i64 %.3596.3, ptr %sunkaddr296, align 8
  %exitcond1810.not.3 = icmp eq i64 %arg.labels.2, %.3540.3
  br i1 %exitcond1810.not.3, label %B1751, label %B1720, !llvm.loop !13
common.ret:
  %heat.2.0.lcssa = phi double [ %arg.rules.2, %B0.endif ], [ %.345, %B1751 ]
  %now.3.0.lcssa = phi double [ %arg.levels.0, %B0.endif ], [ %now.4.1, %B1751 ]
  %lowest.2.0.lcssa = phi double [ %arg.levels.1, %B0.endif ], [ %lowest.3.1, %B1751 ]
  store double %heat.2.0.lcssa, ptr %retptr, align 8
  %retptr.repack1606 = getelementptr inbounds nuw i8, ptr %retptr, i64 8
  store double %now.3.0.lcssa, ptr %retptr.repack1606, align 8
  %retptr.repack1608 = getelementptr inbounds nuw i8, ptr %retptr, i64 16
  store double %lowest.2.0.lcssa, ptr %retptr.repack1608, align 8
  ret i32 0
B1751:
  %now.4.1 = phi double [ %now.3.01744, %B20.i73 ], [ %now.3.01744, %pramana.anneal.0 ], [ %now.3.01744, %B88 ], [ %now.3.01744, %pramana.anneal.085 ], [ %now.5.2, %B1662 ], [ %now.3.01744, %B20.i ], [ %now.5.2, %middle.block ], [ %now.5.2, %B1720.prol.loopexit ], [ %now.5.2, %B1720 ]
  %lowest.3.1 = phi double [ %lowest.2.01745, %B20.i73 ], [ %lowest.2.01745, %pramana.anneal.0 ], [ %lowest.2.01745, %B88 ], [ %lowest.2.01745, %pramana.anneal.085 ], [ %lowest.2.01745.mux, %B1662 ], [ %lowest.2.01745, %B20.i ], [ %now.5.2, %middle.block ], [ %now.5.2, %B1720.prol.loopexit ], [ %now.5.2, %B1720 ]
  %exitcond1811.not = icmp eq i64 %.285, %arg.words.2
  br i1 %exitcond1811.not, label %common.ret, label %B88
B262.endif.endif:
  %.549 = lshr i64 %.339, 36
  %.550 = and i64 %.549, 134217727
  %.551 = uitofp nneg i64 %.550 to double
  %.555 = fmul double %.551, 0x3E40000000000000
  %.573 = icmp slt i64 %.519, 0
  %.574 = select i1 %.573, i64 %arg.state.2.5.0, i64 0
  %62 = getelementptr double, ptr %arg.state.2.4, i64 %.519
  %.588 = getelementptr double, ptr %62, i64 %.574
  %.589 = load double, ptr %.588, align 8
  %.604 = icmp slt i64 %.485, 0
  %.605 = select i1 %.604, i64 %arg.state.2.5.0, i64 0
  %63 = getelementptr double, ptr %arg.state.2.4, i64 %.485
  %.619 = getelementptr double, ptr %63, i64 %.605
  %.620 = load double, ptr %.619, align 8
  %.621 = fadd double %.589, %.620
  %.10.i = fcmp ogt double %.621, 0.000000e+00
  %.11.i = select i1 %.10.i, double %.621, double 0.000000e+00
  %.651 = fmul double %.345, %.11.i
  %.667 = select i1 %.573, i64 %arg.state.1.5.0, i64 0
  %64 = getelementptr i64, ptr %arg.state.1.4, i64 %.519
  %.681 = getelementptr i64, ptr %64, i64 %.667
  %.682 = load i64, ptr %.681, align 8
  %.698 = select i1 %.604, i64 %arg.state.1.5.0, i64 0
  %65 = getelementptr i64, ptr %arg.state.1.4, i64 %.485
  %.712 = getelementptr i64, ptr %65, i64 %.698
  %.713 = load i64, ptr %.712, align 8
  %.714 = add nsw i64 %.713, %.682
  %.715 = sitofp i64 %.714 to double
  %.719 = fdiv double %.651, %.715
  %.755 = icmp sgt i64 %.682, %arg.rules.0
  %.789 = icmp slt i64 %.713, %arg.rules.1
  %or.cond = select i1 %.755, i1 %.789, i1 false
  %.792 = icmp slt i64 %.339, 0
  %or.cond1605 = and i1 %.792, %or.cond
  br i1 %or.cond1605, label %B454, label %B1140
B454.endif:
  %.895 = sitofp i64 %.713 to double
  %.896 = tail call double @llvm.copysign.f64(double 0.000000e+00, double %.895)
  %.929 = fadd double %.895, 1.000000e+00
  %.933 = fdiv double %.896, %.929
  %.pre = sitofp i64 %.682 to double
  br label %B454.endif.endif.endif
B62.lr.ph.i23:
  %total.2.0.lcssa.i.ph = phi double [ %.289.epil.i, %B62.epil.preheader.i ], [ %.289.1.i, %B130.loopexit.unr-lcssa.i ]
  %66 = icmp slt i64 %.519, 0
  %67 = icmp eq i64 %arg.points.5.1, 1
  %.89688 = fmul double %total.2.0.lcssa.i.ph, %.281.i
  %.92989 = fadd double %.281.i, 1.000000e+00
  %.93390 = fdiv double %.89688, %.92989
  %.253.i29 = select i1 %66, i64 %arg.state.0.5.0, i64 0
  %.254.i30 = add i64 %.253.i29, %.519
  %.274.i31 = mul i64 %.254.i30, %arg.state.0.5.1
  %.281.i32 = sitofp i64 %.682 to double
  br i1 %67, label %B62.epil.preheader.i60, label %B62.lr.ph.new.i33
B62.lr.ph.new.i33:
  %68 = shl i64 %.223.i, 3
  %69 = getelementptr i8, ptr %arg.points.4, i64 %68
  %scevgep.i35 = getelementptr i8, ptr %69, i64 8
  %70 = shl i64 %.274.i31, 3
  %71 = getelementptr i8, ptr %arg.state.0.4, i64 %70
  %scevgep6.i36 = getelementptr i8, ptr %71, i64 8
  br label %B62.i37
B62.i37:
  %total.2.0117.i38 = phi double [ 0.000000e+00, %B62.lr.ph.new.i33 ], [ %.289.1.i56, %B62.i37 ]
  %.146113115.i39 = phi i64 [ 0, %B62.lr.ph.new.i33 ], [ %.153.1.i50, %B62.i37 ]
  %72 = shl i64 %.146113115.i39, 3
  %scevgep4.i40 = getelementptr i8, ptr %scevgep.i35, i64 %72
  %scevgep5.i41 = getelementptr i8, ptr %scevgep4.i40, i64 -8
  %.228.i42 = load double, ptr %scevgep5.i41, align 8, !noalias !14
  %scevgep8.i43 = getelementptr i8, ptr %scevgep6.i36, i64 %72
  %scevgep9.i44 = getelementptr i8, ptr %scevgep8.i43, i64 -8
  %.279.i45 = load double, ptr %scevgep9.i44, align 8, !noalias !14
  %.285.i46 = fdiv double %.279.i45, %.281.i32
  %.286.i47 = fsub double %.228.i42, %.285.i46
  %.287.i48 = fmul double %.286.i47, %.286.i47
  %.289.i49 = fadd double %total.2.0117.i38, %.287.i48
  %.153.1.i50 = add nuw i64 %.146113115.i39, 2
  %.228.1.i51 = load double, ptr %scevgep4.i40, align 8, !noalias !14
  %.279.1.i52 = load double, ptr %scevgep8.i43, align 8, !noalias !14
  %.285.1.i53 = fdiv double %.279.1.i52, %.281.i32
  %.286.1.i54 = fsub double %.228.1.i51, %.285.1.i53
  %.287.1.i55 = fmul double %.286.1.i54, %.286.1.i54
  %.289.1.i56 = fadd double %.289.i49, %.287.1.i55
  %niter.ncmp.1.i57 = icmp eq i64 %n.vec171, %.153.1.i50
  br i1 %niter.ncmp.1.i57, label %B130.loopexit.unr-lcssa.i58, label %B62.i37
B130.loopexit.unr-lcssa.i58:
  %73 = and i64 %arg.points.5.1, 1
  %74 = icmp eq i64 %73, 0
  br i1 %74, label %B454.endif.endif.endif, label %B62.epil.preheader.i60
B62.epil.preheader.i60:
  %total.2.0117.epil.init.i61 = phi double [ 0.000000e+00, %B62.lr.ph.i23 ], [ %.289.1.i56, %B130.loopexit.unr-lcssa.i58 ]
  %75 = getelementptr double, ptr %22, i64 %unroll_iter.i
  %.228.epil.i63 = load double, ptr %75, align 8, !noalias !14
  %gep109 = getelementptr double, ptr %invariant.gep108, i64 %.274.i31
  %.279.epil.i64 = load double, ptr %gep109, align 8, !noalias !14
  %.285.epil.i65 = fdiv double %.279.epil.i64, %.281.i32
  %.286.epil.i66 = fsub double %.228.epil.i63, %.285.epil.i65
  %.287.epil.i67 = fmul double %.286.epil.i66, %.286.epil.i66
  %.289.epil.i68 = fadd double %total.2.0117.epil.init.i61, %.287.epil.i67
  br label %B454.endif.endif.endif
B454.endif.endif.endif:
  %.1036.pre-phi = phi double [ %.281.i32, %B62.epil.preheader.i60 ], [ %.281.i32, %B130.loopexit.unr-lcssa.i58 ], [ %.pre, %B454.endif ]
  %.93392 = phi double [ %.93390, %B62.epil.preheader.i60 ], [ %.93390, %B130.loopexit.unr-lcssa.i58 ], [ %.933, %B454.endif ]
  %total.2.0.lcssa.i69 = phi double [ %.289.epil.i68, %B62.epil.preheader.i60 ], [ %.289.1.i56, %B130.loopexit.unr-lcssa.i58 ], [ 0.000000e+00, %B454.endif ]
  %.1037 = fmul double %total.2.0.lcssa.i69, %.1036.pre-phi
  %.1070 = fadd double %.1036.pre-phi, -1.000000e+00
  %.1074 = fdiv double %.1037, %.1070
  %.1081 = fsub double %.93392, %.1074
  %.14.i = fcmp ugt double %.1081, 0.000000e+00
  br i1 %.14.i, label %B20.i, label %B682.endif
B20.i:
  %.26.i = fmul double %.719, 1.900000e+01
  %.28.i = fcmp ule double %.1081, %.26.i
  %.31.i = fcmp ule double %.555, 0.000000e+00
  %or.cond.not3.i = select i1 %.28.i, i1 true, i1 %.31.i
  %.43.i = fcmp ogt double %.719, 0.000000e+00
  %or.cond2.i = select i1 %or.cond.not3.i, i1 %.43.i, i1 false
  br i1 %or.cond2.i, label %pramana.anneal.0, label %B1751
pramana.anneal.0:
  %.49.i = fneg double %.1081
  %.56.i = fdiv double %.49.i, %.719
  %.66.le.i = tail call double @llvm.exp.f64(double %.56.i)
  %.72.i = fcmp uge double %.555, %.66.le.i
  br i1 %.72.i, label %B1751, label %B682.endif
B682.endif:
  %76 = icmp slt i64 %.485, 0
  %77 = icmp slt i64 %.519, 0
  %78 = icmp slt i64 %.383, 0
  %79 = icmp slt i64 %arg.points.5.1, 1
  %.1185 = fsub double %.589, %.1074
  %sunkaddr297 = mul i64 %.574, 8
  %sunkaddr298 = getelementptr inbounds i8, ptr %62, i64 %sunkaddr297
  store double %.1185, ptr %sunkaddr298, align 8
  %sunkaddr299 = mul i64 %.605, 8
  %sunkaddr300 = getelementptr inbounds i8, ptr %63, i64 %sunkaddr299
  %.1249 = load double, ptr %sunkaddr300, align 8
  %.1251 = fadd double %.93392, %.1249
  store double %.1251, ptr %sunkaddr300, align 8
  %sunkaddr301 = mul i64 %.667, 8
  %sunkaddr302 = getelementptr inbounds i8, ptr %64, i64 %sunkaddr301
  %.1315 = load i64, ptr %sunkaddr302, align 8
  %.1341 = select i1 %77, i64 %arg.state.3.5.0, i64 0
  %.1342 = add i64 %.1341, %.519
  %.1343.inv = icmp sgt i64 %.1315, 0
  %.1344 = select i1 %.1343.inv, i64 0, i64 %arg.state.3.5.1
  %.1362 = mul i64 %.1342, %arg.state.3.5.1
  %80 = getelementptr i64, ptr %arg.state.3.4, i64 %.1362
  %81 = getelementptr i64, ptr %80, i64 %.1315
  %82 = getelementptr i8, ptr %81, i64 -8
  %.1366 = getelementptr i64, ptr %82, i64 %.1344
  %.1367 = load i64, ptr %.1366, align 8
  %.1383 = select i1 %78, i64 %arg.state.4.5.0, i64 0
  %83 = getelementptr i64, ptr %arg.state.4.4, i64 %.383
  %.1397 = getelementptr i64, ptr %83, i64 %.1383
  %.1398 = load i64, ptr %.1397, align 8
  %.1456 = icmp slt i64 %.1398, 0
  %.1457 = select i1 %.1456, i64 %arg.state.3.5.1, i64 0
  %84 = getelementptr i64, ptr %80, i64 %.1398
  %.1479 = getelementptr i64, ptr %84, i64 %.1457
  store i64 %.1367, ptr %.1479, align 8
  %.1494 = icmp slt i64 %.1367, 0
  %.1495 = select i1 %.1494, i64 %arg.state.4.5.0, i64 0
  %85 = getelementptr i64, ptr %arg.state.4.4, i64 %.1367
  %.1509 = getelementptr i64, ptr %85, i64 %.1495
  store i64 %.1398, ptr %.1509, align 8
  %sunkaddr303 = mul i64 %.698, 8
  %sunkaddr304 = getelementptr inbounds i8, ptr %65, i64 %sunkaddr303
  %.1541 = load i64, ptr %sunkaddr304, align 8
  %.1598 = select i1 %76, i64 %arg.state.3.5.0, i64 0
  %.1599 = add i64 %.1598, %.485
  %.1600 = icmp slt i64 %.1541, 0
  %.1601 = select i1 %.1600, i64 %arg.state.3.5.1, i64 0
  %.1619 = mul i64 %.1599, %arg.state.3.5.1
  %86 = getelementptr i64, ptr %arg.state.3.4, i64 %.1619
  %87 = getelementptr i64, ptr %86, i64 %.1541
  %.1623 = getelementptr i64, ptr %87, i64 %.1601
  store i64 %.383, ptr %.1623, align 8
  store i64 %.1541, ptr %.1397, align 8
  %.1686 = load i64, ptr %sunkaddr302, align 8
  %.1687 = add nsw i64 %.1686, -1
  store i64 %.1687, ptr %sunkaddr302, align 8
  %.1749 = load i64, ptr %sunkaddr304, align 8
  %.1750 = add nsw i64 %.1749, 1
  store i64 %.1750, ptr %sunkaddr304, align 8
  %sunkaddr305 = mul i64 %.504, 8
  %sunkaddr306 = getelementptr inbounds i8, ptr %17, i64 %sunkaddr305
  store i64 %.485, ptr %sunkaddr306, align 8
  br i1 %79, label %B1662, label %B1028.lr.ph
B1028.lr.ph:
  %88 = icmp slt i64 %.485, 0
  %89 = icmp slt i64 %.519, 0
  %90 = icmp slt i64 %.383, 0
  %91 = icmp ult i64 %arg.points.5.1, 8
  %.1968 = select i1 %89, i64 %arg.state.0.5.0, i64 0
  %.1969 = add i64 %.1968, %.519
  %.1989 = mul i64 %.1969, %arg.state.0.5.1
  %92 = getelementptr double, ptr %arg.state.0.4, i64 %.1989
  %.2019 = select i1 %90, i64 %arg.points.5.0, i64 0
  %.2020 = add i64 %.2019, %.383
  %.2040 = mul i64 %.2020, %arg.points.5.1
  %93 = getelementptr double, ptr %arg.points.4, i64 %.2040
  %.2119 = select i1 %88, i64 %arg.state.0.5.0, i64 0
  %.2120 = add i64 %.2119, %.485
  %.2140 = mul i64 %.2120, %arg.state.0.5.1
  %94 = getelementptr double, ptr %arg.state.0.4, i64 %.2140
  br i1 %91, label %B1028.preheader, label %vector.memcheck114
vector.memcheck114:
  %95 = mul i64 %2, %.1969
  %scevgep115 = getelementptr i8, ptr %scevgep, i64 %95
  %96 = mul i64 %3, %.2120
  %scevgep117 = getelementptr i8, ptr %scevgep116, i64 %96
  %97 = shl i64 %.2020, 3
  %98 = add i64 %97, 8
  %99 = mul i64 %arg.points.5.1, %98
  %scevgep118 = getelementptr i8, ptr %arg.points.4, i64 %99
  %bound0 = icmp ult ptr %92, %scevgep117
  %bound1 = icmp ult ptr %94, %scevgep115
  %found.conflict = and i1 %bound0, %bound1
  %bound0119 = icmp ult ptr %92, %scevgep118
  %bound1120 = icmp ult ptr %93, %scevgep115
  %found.conflict121 = and i1 %bound0119, %bound1120
  %conflict.rdx = or i1 %found.conflict, %found.conflict121
  %bound0122 = icmp ult ptr %94, %scevgep118
  %bound1123 = icmp ult ptr %93, %scevgep117
  %found.conflict124 = and i1 %bound0122, %bound1123
  %conflict.rdx125 = or i1 %conflict.rdx, %found.conflict124
  br i1 %conflict.rdx125, label %B1028.preheader, label %vector.body131.preheader
vector.body131.preheader:
  br label %vector.body131
vector.body131:
  %index132 = phi i64 [ %index.next137, %vector.body131 ], [ 0, %vector.body131.preheader ]
  %100 = shl i64 %index132, 3
  %scevgep222 = getelementptr i8, ptr %92, i64 %100
  %wide.load133 = load <2 x double>, ptr %scevgep222, align 8, !alias.scope !17, !noalias !20
  %101 = shl i64 %index132, 3
  %scevgep221 = getelementptr i8, ptr %93, i64 %101
  %wide.load134 = load <2 x double>, ptr %scevgep221, align 8, !alias.scope !23
  %102 = fsub <2 x double> %wide.load133, %wide.load134
  store <2 x double> %102, ptr %scevgep222, align 8, !alias.scope !17, !noalias !20
  %103 = shl i64 %index132, 3
  %scevgep220 = getelementptr i8, ptr %94, i64 %103
  %wide.load135 = load <2 x double>, ptr %scevgep220, align 8, !alias.scope !24, !noalias !23
  %104 = fadd <2 x double> %wide.load135, %wide.load134
  store <2 x double> %104, ptr %scevgep220, align 8, !alias.scope !24, !noalias !23
  %index.next137 = add nuw i64 %index132, 2
  %105 = icmp eq i64 %n.vec171, %index.next137
  br i1 %105, label %middle.block138, label %vector.body131, !llvm.loop !25
middle.block138:
  %106 = icmp eq i64 %arg.points.5.1, %n.vec130
  br i1 %106, label %B1662, label %B1028.preheader
B1028.preheader:
  %.191216491651.ph = phi i64 [ 0, %vector.memcheck114 ], [ 0, %B1028.lr.ph ], [ %n.vec130, %middle.block138 ]
  %107 = and i64 %arg.points.5.1, 1
  %108 = icmp eq i64 %107, 0
  %.neg189 = or disjoint i64 %.191216491651.ph, 1
  br i1 %108, label %B1028.prol.loopexit, label %B1028.prol
B1028.prol:
  %.1919.prol = or disjoint i64 %.191216491651.ph, 1
  %.1993.prol = getelementptr double, ptr %92, i64 %.191216491651.ph
  %.1994.prol = load double, ptr %.1993.prol, align 8
  %109 = getelementptr double, ptr %93, i64 %.191216491651.ph
  %.2045.prol = load double, ptr %109, align 8
  %.2046.prol = fsub double %.1994.prol, %.2045.prol
  store double %.2046.prol, ptr %.1993.prol, align 8
  %.2144.prol = getelementptr double, ptr %94, i64 %.191216491651.ph
  %.2145.prol = load double, ptr %.2144.prol, align 8
  %.2196.prol = load double, ptr %109, align 8
  %.2197.prol = fadd double %.2145.prol, %.2196.prol
  store double %.2197.prol, ptr %.2144.prol, align 8
  br label %B1028.prol.loopexit
B1028.prol.loopexit:
  %.191216491651.unr = phi i64 [ %.191216491651.ph, %B1028.preheader ], [ %.1919.prol, %B1028.prol ]
  %110 = icmp eq i64 %arg.points.5.1, %.neg189
  br i1 %110, label %B1662, label %B1028.preheader191
B1028.preheader191:
  %111 = mul i64 %10, %.1969
  %scevgep224 = getelementptr i8, ptr %scevgep223, i64 %111
  %112 = mul i64 %11, %.2120
  %scevgep229 = getelementptr i8, ptr %scevgep228, i64 %112
  %113 = mul i64 %12, %.2020
  %scevgep234 = getelementptr i8, ptr %scevgep233, i64 %113
  br label %B1028
B1140.endif:
  %.800.i.pre-phi = phi double [ %.pre106, %B1140.B1140.endif_crit_edge ], [ %.587.i, %B70.i ]
  %.755.i.pre-phi = phi double [ %.pre105, %B1140.B1140.endif_crit_edge ], [ %.286.i19, %B70.i ]
  %one.2.0.lcssa.i = phi double [ 0.000000e+00, %B1140.B1140.endif_crit_edge ], [ %.502.i, %B70.i ]
  %two.2.0.lcssa.i = phi double [ 0.000000e+00, %B1140.B1140.endif_crit_edge ], [ %.700.i, %B70.i ]
  %gap.2.0.lcssa.i = phi double [ 0.000000e+00, %B1140.B1140.endif_crit_edge ], [ %.705.i, %B70.i ]
  %.759.i = fdiv double %gap.2.0.lcssa.i, %.755.i.pre-phi
  %.761.i = fsub double %one.2.0.lcssa.i, %.759.i
  %.804.i = fdiv double %gap.2.0.lcssa.i, %.800.i.pre-phi
  %.808.i = fsub double %two.2.0.lcssa.i, %.804.i
  %.2409 = fadd double %.761.i, %.808.i
  %.14.i71 = fcmp ugt double %.2409, 0.000000e+00
  br i1 %.14.i71, label %B20.i73, label %B1288.endif
B20.i73:
  %.26.i74 = fmul double %.719, 1.900000e+01
  %.28.i75 = fcmp ule double %.2409, %.26.i74
  %.31.i76 = fcmp ule double %.555, 0.000000e+00
  %or.cond.not3.i77 = select i1 %.28.i75, i1 true, i1 %.31.i76
  %.43.i78 = fcmp ogt double %.719, 0.000000e+00
  %or.cond2.i79 = select i1 %or.cond.not3.i77, i1 %.43.i78, i1 false
  br i1 %or.cond2.i79, label %pramana.anneal.085, label %B1751
pramana.anneal.085:
  %.49.i81 = fneg double %.2409
  %.56.i82 = fdiv double %.49.i81, %.719
  %.66.le.i83 = tail call double @llvm.exp.f64(double %.56.i82)
  %.72.i84 = fcmp uge double %.555, %.66.le.i83
  br i1 %.72.i84, label %B1751, label %B1288.endif
B1288.endif:
  %114 = icmp slt i64 %.519, 0
  %115 = icmp slt i64 %.383, 0
  %116 = icmp slt i64 %arg.points.5.1, 1
  %.2515 = fadd double %.589, %.761.i
  %sunkaddr307 = mul i64 %.574, 8
  %sunkaddr308 = getelementptr i8, ptr %62, i64 %sunkaddr307
  store double %.2515, ptr %sunkaddr308, align 8
  %sunkaddr309 = mul i64 %.605, 8
  %sunkaddr310 = getelementptr i8, ptr %63, i64 %sunkaddr309
  %.2579 = load double, ptr %sunkaddr310, align 8
  %.2581 = fadd double %.808.i, %.2579
  store double %.2581, ptr %sunkaddr310, align 8
  %.2630 = select i1 %115, i64 %arg.state.4.5.0, i64 0
  %117 = getelementptr i64, ptr %arg.state.4.4, i64 %.383
  %.2644 = getelementptr i64, ptr %117, i64 %.2630
  %.2645 = load i64, ptr %.2644, align 8
  %.2671 = select i1 %114, i64 %arg.state.3.5.0, i64 0
  %.2672 = add i64 %.2671, %.519
  %.2673 = icmp slt i64 %.2645, 0
  %.2674 = select i1 %.2673, i64 %arg.state.3.5.1, i64 0
  %.2692 = mul i64 %.2672, %arg.state.3.5.1
  %118 = getelementptr i64, ptr %arg.state.3.4, i64 %.2692
  %119 = getelementptr i64, ptr %118, i64 %.2645
  %.2696 = getelementptr i64, ptr %119, i64 %.2674
  store i64 %.2352, ptr %.2696, align 8
  %.2712 = icmp slt i64 %.2352, 0
  %.2713 = select i1 %.2712, i64 %arg.state.4.5.0, i64 0
  %120 = getelementptr i64, ptr %arg.state.4.4, i64 %.2352
  %.2727 = getelementptr i64, ptr %120, i64 %.2713
  %.2728 = load i64, ptr %.2727, align 8
  %.2756 = icmp slt i64 %.2728, 0
  %.2757 = select i1 %.2756, i64 %arg.state.3.5.1, i64 0
  %121 = getelementptr i64, ptr %37, i64 %.2728
  %.2779 = getelementptr i64, ptr %121, i64 %.2757
  store i64 %.383, ptr %.2779, align 8
  %.2811 = load i64, ptr %.2727, align 8
  %.2842 = load i64, ptr %.2644, align 8
  store i64 %.2811, ptr %.2644, align 8
  store i64 %.2842, ptr %.2727, align 8
  %sunkaddr311 = mul i64 %.504, 8
  %sunkaddr312 = getelementptr inbounds i8, ptr %17, i64 %sunkaddr311
  store i64 %.485, ptr %sunkaddr312, align 8
  %.2953 = select i1 %.2712, i64 %arg.labels.5.0, i64 0
  %122 = getelementptr i64, ptr %arg.labels.4, i64 %.2352
  %.2967 = getelementptr i64, ptr %122, i64 %.2953
  store i64 %.519, ptr %.2967, align 8
  br i1 %116, label %B1662, label %B1544.lr.ph
B1544.lr.ph:
  %123 = icmp slt i64 %.2352, 0
  %124 = icmp slt i64 %.485, 0
  %125 = icmp slt i64 %.519, 0
  %126 = icmp slt i64 %.383, 0
  %127 = icmp ult i64 %arg.points.5.1, 12
  %.3128 = select i1 %126, i64 %arg.points.5.0, i64 0
  %.3129 = add i64 %.3128, %.383
  %.3149 = mul i64 %.3129, %arg.points.5.1
  %128 = getelementptr double, ptr %arg.points.4, i64 %.3149
  %.3179 = select i1 %123, i64 %arg.points.5.0, i64 0
  %.3180 = add i64 %.3179, %.2352
  %.3200 = mul i64 %.3180, %arg.points.5.1
  %129 = getelementptr double, ptr %arg.points.4, i64 %.3200
  %.3231 = select i1 %125, i64 %arg.state.0.5.0, i64 0
  %.3232 = add i64 %.3231, %.519
  %.3252 = mul i64 %.3232, %arg.state.0.5.1
  %130 = getelementptr double, ptr %arg.state.0.4, i64 %.3252
  %.3331 = select i1 %124, i64 %arg.state.0.5.0, i64 0
  %.3332 = add i64 %.3331, %.485
  %.3352 = mul i64 %.3332, %arg.state.0.5.1
  %131 = getelementptr double, ptr %arg.state.0.4, i64 %.3352
  br i1 %127, label %B1544.preheader, label %vector.memcheck141
vector.memcheck141:
  %132 = mul i64 %4, %.3232
  %scevgep143 = getelementptr i8, ptr %scevgep142, i64 %132
  %133 = mul i64 %5, %.3332
  %scevgep145 = getelementptr i8, ptr %scevgep144, i64 %133
  %134 = shl i64 %.3129, 3
  %135 = add i64 %134, 8
  %136 = mul i64 %arg.points.5.1, %135
  %scevgep146 = getelementptr i8, ptr %arg.points.4, i64 %136
  %137 = shl i64 %.3180, 3
  %138 = add i64 %137, 8
  %139 = mul i64 %arg.points.5.1, %138
  %scevgep147 = getelementptr i8, ptr %arg.points.4, i64 %139
  %bound0148 = icmp ult ptr %130, %scevgep145
  %bound1149 = icmp ult ptr %131, %scevgep143
  %found.conflict150 = and i1 %bound0148, %bound1149
  %bound0151 = icmp ult ptr %130, %scevgep146
  %bound1152 = icmp ult ptr %128, %scevgep143
  %found.conflict153 = and i1 %bound0151, %bound1152
  %conflict.rdx154 = or i1 %found.conflict150, %found.conflict153
  %bound0155 = icmp ult ptr %130, %scevgep147
  %bound1156 = icmp ult ptr %129, %scevgep143
  %found.conflict157 = and i1 %bound0155, %bound1156
  %conflict.rdx158 = or i1 %conflict.rdx154, %found.conflict157
  %bound0159 = icmp ult ptr %131, %scevgep146
  %bound1160 = icmp ult ptr %128, %scevgep145
  %found.conflict161 = and i1 %bound0159, %bound1160
  %conflict.rdx162 = or i1 %conflict.rdx158, %found.conflict161
  %bound0163 = icmp ult ptr %131, %scevgep147
  %bound1164 = icmp ult ptr %129, %scevgep145
  %found.conflict165 = and i1 %bound0163, %bound1164
  %conflict.rdx166 = or i1 %conflict.rdx162, %found.conflict165
  br i1 %conflict.rdx166, label %B1544.preheader, label %vector.body172.preheader
vector.body172.preheader:
  br label %vector.body172
vector.body172:
  %index173 = phi i64 [ %index.next178, %vector.body172 ], [ 0, %vector.body172.preheader ]
  %140 = shl i64 %index173, 3
  %scevgep199 = getelementptr i8, ptr %128, i64 %140
  %wide.load174 = load <2 x double>, ptr %scevgep199, align 8, !alias.scope !26
  %141 = shl i64 %index173, 3
  %scevgep198 = getelementptr i8, ptr %129, i64 %141
  %wide.load175 = load <2 x double>, ptr %scevgep198, align 8, !alias.scope !29
  %142 = fsub <2 x double> %wide.load174, %wide.load175
  %143 = shl i64 %index173, 3
  %scevgep197 = getelementptr i8, ptr %130, i64 %143
  %wide.load176 = load <2 x double>, ptr %scevgep197, align 8, !alias.scope !31, !noalias !33
  %144 = fsub <2 x double> %wide.load176, %142
  store <2 x double> %144, ptr %scevgep197, align 8, !alias.scope !31, !noalias !33
  %145 = shl i64 %index173, 3
  %scevgep196 = getelementptr i8, ptr %131, i64 %145
  %wide.load177 = load <2 x double>, ptr %scevgep196, align 8, !alias.scope !35, !noalias !36
  %146 = fadd <2 x double> %142, %wide.load177
  store <2 x double> %146, ptr %scevgep196, align 8, !alias.scope !35, !noalias !36
  %index.next178 = add nuw i64 %index173, 2
  %147 = icmp eq i64 %n.vec171, %index.next178
  br i1 %147, label %middle.block179, label %vector.body172, !llvm.loop !37
middle.block179:
  %148 = icmp eq i64 %arg.points.5.1, %n.vec171
  br i1 %148, label %B1662, label %B1544.preheader
B1544.preheader:
  %.307016431645.ph = phi i64 [ 0, %vector.memcheck141 ], [ 0, %B1544.lr.ph ], [ %n.vec171, %middle.block179 ]
  %149 = and i64 %arg.points.5.1, 1
  %150 = icmp eq i64 %149, 0
  %.neg = or disjoint i64 %.307016431645.ph, 1
  br i1 %150, label %B1544.prol.loopexit, label %B1544.prol
B1544.prol:
  %.3077.prol = or disjoint i64 %.307016431645.ph, 1
  %.3153.prol = getelementptr double, ptr %128, i64 %.307016431645.ph
  %.3154.prol = load double, ptr %.3153.prol, align 8
  %.3204.prol = getelementptr double, ptr %129, i64 %.307016431645.ph
  %.3205.prol = load double, ptr %.3204.prol, align 8
  %.3206.prol = fsub double %.3154.prol, %.3205.prol
  %.3256.prol = getelementptr double, ptr %130, i64 %.307016431645.ph
  %.3257.prol = load double, ptr %.3256.prol, align 8
  %.3258.prol = fsub double %.3257.prol, %.3206.prol
  store double %.3258.prol, ptr %.3256.prol, align 8
  %.3356.prol = getelementptr double, ptr %131, i64 %.307016431645.ph
  %.3357.prol = load double, ptr %.3356.prol, align 8
  %.3358.prol = fadd double %.3206.prol, %.3357.prol
  store double %.3358.prol, ptr %.3356.prol, align 8
  br label %B1544.prol.loopexit
B1544.prol.loopexit:
  %.307016431645.unr = phi i64 [ %.307016431645.ph, %B1544.preheader ], [ %.3077.prol, %B1544.prol ]
  %151 = icmp eq i64 %arg.points.5.1, %.neg
  br i1 %151, label %B1662, label %B1544.preheader192
B1544.preheader192:
  %152 = sub i64 %arg.points.5.1, %.307016431645.unr
  %153 = mul i64 %6, %.3232
  %154 = shl i64 %.307016431645.unr, 3
  %155 = add i64 %153, %154
  %scevgep201 = getelementptr i8, ptr %scevgep200, i64 %155
  %156 = mul i64 %7, %.3332
  %157 = add i64 %156, %154
  %scevgep206 = getelementptr i8, ptr %scevgep205, i64 %157
  %158 = mul i64 %8, %.3129
  %159 = add i64 %158, %154
  %scevgep211 = getelementptr i8, ptr %scevgep210, i64 %159
  %160 = mul i64 %9, %.3180
  %161 = add i64 %160, %154
  %scevgep216 = getelementptr i8, ptr %scevgep215, i64 %161
  br label %B1544
}
declare double @llvm.exp.f64(double) #1
declare double @llvm.copysign.f64(double, double) #2
attributes #0 = { nofree norecurse nosync nounwind memory(argmem: readwrite) }
attributes #1 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
!0 = !{!1}
!1 = distinct !{!1, !2, !"pramana.anneal.2: %retptr"}
!2 = distinct !{!2, !"pramana.anneal.2"}
!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.isvectorized", i32 1}
!5 = !{!6}
!6 = distinct !{!6, !7, !"pramana.anneal.3: %retptr"}
!7 = distinct !{!7, !"pramana.anneal.3"}
!8 = distinct !{!8, !4}
!9 = distinct !{!9, !4, !10}
!10 = !{!"llvm.loop.unroll.runtime.disable"}
!11 = distinct !{!11, !12}
!12 = !{!"llvm.loop.unroll.disable"}
!13 = distinct !{!13, !4}
!14 = !{!15}
!15 = distinct !{!15, !16, !"pramana.anneal.2: %retptr"}
!16 = distinct !{!16, !"pramana.anneal.2"}
!17 = !{!18}
!18 = distinct !{!18, !19}
!19 = distinct !{!19, !"LVerDomain"}
!20 = !{!21, !22}
!21 = distinct !{!21, !19}
!22 = distinct !{!22, !19}
!23 = !{!22}
!24 = !{!21}
!25 = distinct !{!25, !4, !10}
!26 = !{!27}
!27 = distinct !{!27, !28}
!28 = distinct !{!28, !"LVerDomain"}
!29 = !{!30}
!30 = distinct !{!30, !28}
!31 = !{!32}
!32 = distinct !{!32, !28}
!33 = !{!34, !27, !30}
!34 = distinct !{!34, !28}
!35 = !{!34}
!36 = !{!27, !30}
!37 = distinct !{!37, !4, !10}
